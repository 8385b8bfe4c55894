"""SiMing-Bench itself: the rubric, what is asked, how a reply is read, what the numbers are."""
