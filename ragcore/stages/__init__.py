"""One file per pipeline stage. Importing this package registers them all."""

from ragcore.stages.boost_profile import BoostProfile
from ragcore.stages.correct_terms import CorrectTerms
from ragcore.stages.cutoff_cliff import CutoffCliff
from ragcore.stages.cutoff_top_k import CutoffTopK
from ragcore.stages.drop_duplicates import DropDuplicates
from ragcore.stages.fuse_rsf import FuseRsf
from ragcore.stages.load_passages import LoadPassages
from ragcore.stages.merge_neighbours import MergeNeighbours
from ragcore.stages.rank_single_arm import RankSingleArm
from ragcore.stages.rerank import Rerank
from ragcore.stages.search_coarse import SearchCoarse
from ragcore.stages.search_fine import SearchFine
from ragcore.stages.weigh_quality import WeighQuality

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
