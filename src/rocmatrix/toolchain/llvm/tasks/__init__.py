"""Programs that build steps and gates run by path, in isolated mode; they import nothing but the standard library."""
