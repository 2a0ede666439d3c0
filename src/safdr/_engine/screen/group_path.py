def group_path(problem):
    raise NotImplementedError
