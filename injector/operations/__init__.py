"""Operations on a queue group that take a while: planned, run step by step, and resumed."""
