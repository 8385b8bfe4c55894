"""Tables as papers print them: read from files, kept to the printed digit; the paper's own come as data."""
