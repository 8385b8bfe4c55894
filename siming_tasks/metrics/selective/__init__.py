"""What other forms of the reply tell: what a judge abstains from, and what it says its answers rest on."""
