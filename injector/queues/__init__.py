"""Operations on a queue group."""
