"""The script of the exam: what is done in each step, and what each named error looks like."""
