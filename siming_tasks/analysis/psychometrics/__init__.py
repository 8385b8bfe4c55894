"""What psychometricians ask of an exam: reliability, generalisability, difficulty, cut scores, decisions."""
