"""SiMing-Bench as a harness of NeMo Evaluator."""
