Duplicates = None


def find_duplicates():
    raise NotImplementedError
