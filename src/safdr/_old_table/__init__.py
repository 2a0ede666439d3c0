"""Tables as people have them become rows of numbers; knows neither models nor a command line."""
