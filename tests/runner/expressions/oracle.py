"""What Python makes of expressions, one a line: the arithmetic is Python's own, the strictness that of docs/expressions.md."""
import ast
import math
import operator
import sys

NAMES = {"a": 7, "b": -3, "c": 0.5, "d": 0, "e": 9223372036854775807, "t": "abc", "f": True}
class Refused(Exception):
    pass


def power(x, y):
    if type(x) is int and type(y) is int and y > 64 and abs(x) > 1:
        raise Refused  # Python would compute each of its digits
    value = x**y
    if type(value) is complex:
        raise Refused
    return value


ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Mod: operator.mod, ast.Pow: power, ast.Div: lambda x, y: float(x) / float(y)}
ORDER = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
FUNCTIONS = {"ceil": math.ceil, "floor": math.floor, "round": round, "log2": math.log2, "sqrt": math.sqrt, "abs": abs}


def is_number(value):
    return type(value) in (int, float)


def number(value):
    if not is_number(value):
        raise Refused
    return value


def truth(value):
    if type(value) is not bool:
        raise Refused
    return value


def checked(value):
    if type(value) is int and not -2**63 <= value < 2**63 or type(value) is float and not math.isfinite(value):
        raise Refused
    return value


def equal(x, y):
    return x == y if is_number(x) and is_number(y) else type(x) is type(y) and x == y


def compare(op, x, y):
    if type(op) is ast.In:
        return any(equal(x, each) for each in y)
    if type(op) is ast.NotIn:
        return not any(equal(x, each) for each in y)
    if type(op) in (ast.Eq, ast.NotEq):
        return equal(x, y) == (type(op) is ast.Eq)
    if not (is_number(x) and is_number(y) or type(x) is str and type(y) is str):
        raise Refused
    return ORDER[type(op)](x, y)


def call(name, values):
    if name in ("min", "max"):
        return (min if name == "min" else max)(values)
    value = values[0]
    return value if type(value) is int and name in ("ceil", "floor", "round") else FUNCTIONS[name](value)


def evaluate(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, **NAMES}[node.id]
    if isinstance(node, ast.List):
        return [evaluate(each) for each in node.elts]
    if isinstance(node, ast.BoolOp):
        wanted = isinstance(node.op, ast.Or)
        return wanted if any(truth(evaluate(each)) == wanted for each in node.values) else not wanted
    if isinstance(node, ast.UnaryOp):
        value = evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return not truth(value)
        return checked(-number(value)) if isinstance(node.op, ast.USub) else number(value)
    if isinstance(node, ast.Compare):
        return compare(node.ops[0], evaluate(node.left), evaluate(node.comparators[0]))
    if isinstance(node, ast.Call):
        return checked(call(node.func.id, [number(evaluate(each)) for each in node.args]))
    return checked(ARITHMETIC[type(node.op)](number(evaluate(node.left)), number(evaluate(node.right))))


def spelled(text):
    try:
        value = evaluate(ast.parse(text, mode="eval").body)
    except (Refused, ZeroDivisionError, OverflowError, ValueError):
        return "error"
    if type(value) is bool:
        return "true" if value else "false"
    return "decimal %.17g" % value if type(value) is float else f"{type(value).__name__} {value}"


if __name__ == "__main__":
    for line in sys.stdin:
        print(spelled(line.strip()))
