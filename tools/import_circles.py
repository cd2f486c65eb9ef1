"""Circles among the imports of a package, those within functions and for type checking included.

``python tools/import_circles.py eagre`` lists them and fails if there is one. Import-linter's layers say which package
may import which; this says that within a package, too, imports point one way.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import grimp


def imports_of(package: str) -> dict[str, set[str]]:
    """What each module of a package imports from the package."""
    graph = grimp.build_graph(package, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def circles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of modules of which each imports each other, directly or not (Tarjan's strongly connected components)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for other in sorted(imports.get(module, ())):
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(imports):
        if module not in order:
            visit(module)
    return sorted(found)


def main() -> int:
    """List the circles of the package that is named."""
    found = circles(imports_of(sys.argv[1]))
    for group in found:
        print("imports in a circle: " + ", ".join(group))
    print(f"imports: {len(found)} circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
