"""What a definition is in each language, by the names of the nodes in its grammar (tree-sitter)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language

COMMENTS = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "inner_attribute_item"})
_C_NODES = "function_definition struct_specifier union_specifier enum_specifier type_definition preproc_function_def"
_JAVA_TYPES = "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"
_SCRIPT_NODES = (
    "function_declaration generator_function_declaration class_declaration method_definition lexical_declaration"
    " variable_declaration expression_statement"
)
_TYPESCRIPT_NODES = _SCRIPT_NODES + (
    " interface_declaration type_alias_declaration enum_declaration abstract_class_declaration function_signature"
    " internal_module module"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """One language."""

    package: str  # which holds the grammar
    function: str = "language"  # of the package, that gives it
    definitions: frozenset[str]
    containers: frozenset[str] = frozenset()  # definitions whose members are definitions, too
    wrappers: frozenset[str] = frozenset()  # what stands around one definition: decorators, `export`, `template`
    transparent: frozenset[str] = frozenset()  # what may hold definitions and has no name: `#ifdef`, `try`


def _nodes(names: str) -> frozenset[str]:
    return frozenset(names.split())


_PYTHON = Grammar(
    package="tree_sitter_python",
    definitions=_nodes("function_definition class_definition"),
    containers=_nodes("class_definition"),
    wrappers=_nodes("decorated_definition"),
    transparent=_nodes(
        "if_statement else_clause elif_clause try_statement except_clause finally_clause with_statement block"
    ),
)
_C_OPEN = _nodes("preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification declaration_list")
_C = Grammar(package="tree_sitter_c", definitions=_nodes(_C_NODES + " declaration"), transparent=_C_OPEN)
_CPP = Grammar(
    package="tree_sitter_cpp",
    definitions=_nodes(
        _C_NODES + " declaration field_declaration class_specifier namespace_definition concept_definition"
    ),
    containers=_nodes("class_specifier struct_specifier namespace_definition"),
    wrappers=_nodes("template_declaration"),
    transparent=_C_OPEN,
)
_JAVA = Grammar(
    package="tree_sitter_java",
    definitions=_nodes(_JAVA_TYPES + " method_declaration constructor_declaration compact_constructor_declaration"),
    containers=_nodes(_JAVA_TYPES),
    transparent=_nodes("enum_body_declarations"),
)
_GO = Grammar(
    package="tree_sitter_go",
    definitions=_nodes("function_declaration method_declaration type_declaration"),
)
_JAVASCRIPT = Grammar(
    package="tree_sitter_javascript",
    definitions=_nodes(_SCRIPT_NODES),
    containers=_nodes("class_declaration"),
    wrappers=_nodes("export_statement"),
)
_TYPESCRIPT_CONTAINERS = _nodes("class_declaration abstract_class_declaration internal_module module")
_TYPESCRIPT = Grammar(
    package="tree_sitter_typescript",
    function="language_typescript",
    definitions=_nodes(_TYPESCRIPT_NODES),
    containers=_TYPESCRIPT_CONTAINERS,
    wrappers=_nodes("export_statement ambient_declaration"),
)
_TSX = Grammar(
    package="tree_sitter_typescript",
    function="language_tsx",
    definitions=_nodes(_TYPESCRIPT_NODES),
    containers=_TYPESCRIPT_CONTAINERS,
    wrappers=_nodes("export_statement ambient_declaration"),
)
_RUST = Grammar(
    package="tree_sitter_rust",
    definitions=_nodes(
        "function_item struct_item enum_item union_item trait_item impl_item mod_item macro_definition"
        " function_signature_item"
    ),
    containers=_nodes("trait_item impl_item mod_item"),
)
_BASH = Grammar(
    package="tree_sitter_bash",
    definitions=_nodes("function_definition"),
    transparent=_nodes("if_statement else_clause elif_clause"),
)

# file name ending -> the language as Markdown names it, and its grammar
GRAMMARS: dict[str, tuple[str, Grammar]] = {
    **dict.fromkeys((".py", ".pyi"), ("python", _PYTHON)),
    ".c": ("c", _C),
    **dict.fromkeys((".h", ".hpp", ".hh", ".cpp", ".cc", ".cxx"), ("cpp", _CPP)),
    ".java": ("java", _JAVA),
    ".go": ("go", _GO),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("javascript", _JAVASCRIPT)),
    ".ts": ("typescript", _TYPESCRIPT),
    ".tsx": ("tsx", _TSX),
    ".rs": ("rust", _RUST),
    ".sh": ("bash", _BASH),
}


@cache
def load_language(grammar: Grammar) -> Language:
    """The compiled grammar; each file needs one, so that only that package is imported."""
    import tree_sitter

    return tree_sitter.Language(getattr(import_module(grammar.package), grammar.function)())
