"""``--model siming_nano``: a small trained judge that watches. Trained on drawings; useless on real exams."""
