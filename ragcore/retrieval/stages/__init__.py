"""One file per pipeline stage. Importing this package registers them all."""

from ragcore.retrieval.stages.boost_profile import BoostProfile
from ragcore.retrieval.stages.correct_terms import CorrectTerms
from ragcore.retrieval.stages.cutoff_cliff import CutoffCliff
from ragcore.retrieval.stages.cutoff_top_k import CutoffTopK
from ragcore.retrieval.stages.drop_duplicates import DropDuplicates
from ragcore.retrieval.stages.fuse_rsf import FuseRsf
from ragcore.retrieval.stages.load_passages import LoadPassages
from ragcore.retrieval.stages.merge_neighbours import MergeNeighbours
from ragcore.retrieval.stages.rank_single_arm import RankSingleArm
from ragcore.retrieval.stages.rerank import Rerank
from ragcore.retrieval.stages.search_coarse import SearchCoarse
from ragcore.retrieval.stages.search_fine import SearchFine
from ragcore.retrieval.stages.weigh_quality import WeighQuality

__all__ = [
    "MergeNeighbours",
    "DropDuplicates",
    "WeighQuality",
    "CorrectTerms",
    "BoostProfile",
    "CutoffCliff",
    "CutoffTopK",
    "FuseRsf",
    "LoadPassages",
    "RankSingleArm",
    "Rerank",
    "SearchCoarse",
    "SearchFine",
]
