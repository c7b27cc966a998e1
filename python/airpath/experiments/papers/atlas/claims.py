"""x"""
CLAIMS=()
