"""The rating station: a local page on which one physician marks spans and scores exams."""
