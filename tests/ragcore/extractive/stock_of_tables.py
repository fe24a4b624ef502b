"""Small documents with tables and procedures, for questions about rows, steps and faults."""

from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

_ENGLISH = {
    "产线": [{"product", "line"}, {"line"}],
    "泵": [{"pump"}],
    "服务器": [{"server"}],
    "更换": [{"replac"}, {"chang"}],
    "滤芯": [{"filter"}],
}
_CHINESE = {"server": {"服务器": 1.0}, "servers": {"服务器": 1.0}}


class Words:
    """A dictionary of a few words."""

    def translations(self, word):
        return _CHINESE.get(word, {})

    def meanings(self, word):
        return [frozenset(meaning) for meaning in _ENGLISH.get(word, ())]


TOKENIZER = JiebaTokenizer(glossary=Words())
PUMPS = source(
    1,
    """# Pump catalogue

## Centrifugal pumps

| Model | Flow (m3/h) | Weight (kg) | Efficiency (%) |
| --- | --- | --- | --- |
| CP-20 | 20 | 18 | 61 |
| CP-45 | 45 | 31 | 68 |

## Vane pumps

| Model | Flow (m3/h) | Weight (kg) | Efficiency (%) |
| --- | --- | --- | --- |
| VP-8 | 8 | 9 | 55 |

## Spare parts

| Part | Fits | Weight (kg) |
| --- | --- | --- |
| Seal set | CP | 0.2 |
| Vane kit | VP | 0.3 |
""",
    title="Pump catalogue",
)
LINES = source(
    2,
    """# Production lines in May

| Line | Yield | Scrap | Downtime (h) | Max downtime (h) |
| --- | --- | --- | --- | --- |
| Line A | 98.2 % | 1.1 % | 4 | 6 |
| Line B | 95.0 % | 3.4 % | 9 | 6 |
| Line C | 99.1 % | 0.6 % | 2 | 1 |

The yield target is 97 %. Scrap must stay below 3 %, which is our threshold for scrap.
""",
    title="Production lines in May",
)
SERVERS = source(
    3,
    """# 服务器台账

| 服务器 | 机房 | 在线率 | 故障次数 | 功耗(W) | 功耗上限(W) |
| --- | --- | --- | --- | --- | --- |
| 甲一 | 一楼 | 99.9% | 1 | 420 | 450 |
| 甲二 | 一楼 | 97.5% | 6 | 510 | 450 |
| 乙一 | 二楼 | 99.2% | 3 | 380 | 400 |

在线率目标为99%。
""",
    title="服务器台账",
)
LIFTS = source(
    4,
    """# Lift faults

| Code | Fault | Priority |
| --- | --- | --- |
| E-17 | Door does not close | high |
| E-22 | Emergency phone dead | high |
| E-31 | Lamp flickers | low |
| E-40 | Cabin stops uneven | low |

## Door does not close

1. Clean the door track.
2. Check the light barrier.

| Fault | Remedy |
| --- | --- |
| Emergency phone dead | Replace the battery of the phone. |

## Maintenance

When the cabin stops uneven, adjust the brake and check the encoder.
""",
    title="Lift faults",
)
FILTER = source(
    5,
    """# Changing the filter

1. Close the inlet valve.
2. Release the pressure.
3. Unscrew the cover.
4. Replace the cartridge. Keep the old seal.
5. Screw the cover on.
""",
    title="Changing the filter",
)
SEALS = source(
    6,
    """# 保养手册

## 更换滤芯

1. 关闭进水阀。
2. 泄压。
3. 旋下滤筒。
4. 取出旧滤芯。
5. 装入新滤芯。
6. 检查渗漏。

## 更换密封圈

第一步：停机。

第二步：拆下端盖。

第三步：换上新密封圈。
""",
    title="保养手册",
)
DISKS = source(
    7,
    """# 故障代码

| 代码 | 故障名称 | 级别 |
| --- | --- | --- |
| F-101 | 硬盘离线 | 严重 |
| F-102 | 风扇转速低 | 一般 |

## 硬盘离线

1. 查看硬盘指示灯。
2. 重新插拔硬盘。
""",
    title="故障代码",
)
