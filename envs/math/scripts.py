"""Reads words in other letters than A to Z: units and counting words behind numbers, and signs of money."""

# ruff: noqa: RUF001

from __future__ import annotations

import re

LETTER = (
    r"(?:(?![\u0370-\u03ff\u2100-\u214f\U0001d400-\U0001d7ff])[^\W\d_]|(?!\d)[\u0300-\u036f\u0610-\u06dc\u0900-\u0e4e])"
)
"""Letter of a word in any script. Greek ones and those of mathematics are variables and constants."""
EAST_ASIAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Letters of Chinese, Japanese and Korean, whose words have no spaces between them."""
_UNITS = {
    **{"mm": "毫米 ミリメートル 밀리미터 мм", "cm": "厘米 公分 センチメートル センチ 센티미터 см", "dm": "分米 дм"},
    **{"m": "米 メートル 미터 м", "km": "千米 公里 キロメートル 킬로미터 км", "mg": "毫克 мг", "ha": "公顷 га"},
    **{"g": "克 グラム 그램 г", "kg": "千克 公斤 キログラム 킬로그램 кг", "tonnes": "吨 噸 トン 톤 т тонн тонны тонна"},
    **{"mL": "毫升 ミリリットル 밀리리터 мл", "L": "升 リットル 리터 л литр литра литров", "s": "秒 秒钟 초 с сек"},
    **{"min": "分钟 分鐘 분 мин минут минуты минута", "h": "小时 小時 時間 时 時 시간 ч час часа часов"},
    **{"days": "天 日間 일 день дня дней", "weeks": "周 週間 주 неделя недели недель", "years": "年 년 год года лет"},
    **{"months": "个月 個月 ヶ月 か月 개월 месяц месяца месяцев", "°": "度 도 градус градуса градусов"},
    **{
        "yuan": "元 块 块钱 元钱 人民币",
        "yen": "円 日元 엔",
        "KRW": "원 韩元",
        "dollars": "美元 ドル 달러 доллар доллара долларов",
    },
    **{"EUR": "欧元 ユーロ 유로 евро", "RUB": "₽ руб рубль рубля рублей", "PHP": "₱"},
    "things": (
        "个 個 只 隻 本 名 人 位 张 張 件 支 枝 条 條 辆 輛 棵 头 頭 匹 台 朵 粒 颗 顆 枚 块儿 把 袋 盒 瓶 杯 箱 次 种 種"
        " 种方法 通り 匹 冊 回 つ 点 分 题 道 岁 歲 歳 개 명 마리 권 장 번 가지 살 대 человек человека шт штук штуки"
    ),
}
"""Units and counting words, by words of English that are read as the same."""
_LATIN = {word: unit for unit, words in _UNITS.items() for word in words.split()}
_ALL = "|".join(sorted(map(re.escape, _LATIN), key=len, reverse=True))
_LIFTED = {"平方": "sq ", "立方": "cubic ", "кв": "sq ", "куб": "cubic "}
_UNIT = rf"(?:(平方|立方)|(кв|куб)\.?\s?)?({_ALL})\.?(?:\s?(?:[/每]\s?)({_ALL}))?"
_BEHIND_A_NUMBER = re.compile(
    rf"(?:(?<=[\d)}}\]%])|(?<=\\pi))\s{{0,3}}(?:\\text\{{\s{{0,3}}{_UNIT}\s{{0,3}}\}}|{_UNIT}(?:(?!\d|{LETTER})|(?<=[时時分钟鐘秒間간])(?=\d)))"
)
_MONEY_BEFORE = re.compile(r"(\\text\{\s?)?(?:(₽)|(₱)|\bRs\.?)(?(1)\s?\})\s?(?=\.?\d)")
_RUPEES = re.compile(r"(?<=\d)\s?(?:\\text\{\s?Rs\.?\s?\}|Rs\.?)(?!\w)")
_OTHER = re.compile(rf"(?:(?![A-Za-z]){LETTER})+")
_NUMBER_AND_OTHERS = re.compile(r"(.*\d)\s{0,3}(?:\\text\{([^{}\d]+)\}|([^\d{}\\]+?))\.?")
CHANGING = (
    "零一二三四五六七八九十百千万萬亿億兆半倍分折成打双對对不非没沒无無或和与比多少余餘约約上下以超至负負点點又近几幾只到从還还"
    "か除乘加减減根号号方幂次만억천백십배반할쌍이상미만하또는아니안의와약"
)
"""Letters that may make another number of the one before them, compare it, or deny it."""
_MAGNITUDES = re.compile(
    rf"[{CHANGING}]"
    r"|^(?:тыс|мил|млн|млрд|десят|сот|раз|процент|не|или|больше|меньше|боле|мене|полов|трет|четверт|дюжин|квадрат|куб|минус|плюс|ни)"
)
"""These letters, and beginnings of words that may make another number of the one before them, compare it, or deny it."""


def with_latin_units(text: str) -> str:
    r"""Returns a text with English words for units and counting words of other letters behind numbers and in LaTeX's text:
    `12厘米` is `12 cm`. Signs of money without a name on an English keyboard are their codes.
    """
    if text.isascii() and "Rs" not in text:
        return text
    money = _RUPEES.sub(" INR", _MONEY_BEFORE.sub(_money, text))
    return _BEHIND_A_NUMBER.sub(_latin, money)


def without_other_words(expected: str) -> tuple[str, str]:
    """Returns a bare expected answer without words of other letters that name what its number counts, and these words;
    they are "" if it has none, or such as may make another number.
    """
    found = _NUMBER_AND_OTHERS.fullmatch(expected)
    words = ((found[2] or found[3]) if found else "").strip()
    return (found[1], words) if found and is_named_in(words, "", words) else (expected, "")


def is_named_in(words: str, known: str, other: str) -> bool:
    """Says whether words that are not of the letters A to Z stand in one of two texts, and make no other number of the
    one before them: `个苹果` where the question has `苹果`.

    `known`: the expected answer, all of whose words name what it counts. `other`: the question.
    """
    folded = " ".join(words.casefold().split())
    if _OTHER.search(folded) is None or re.fullmatch(rf"(?:{LETTER}| )+", folded) is None:
        return False
    if _OTHER.search(known):
        return _stands_in(folded, known.casefold())
    if not re.fullmatch(rf"[{EAST_ASIAN}\u0400-\u04ff ]+", folded):
        return False
    bare = folded[1:] if len(folded) > 1 and _LATIN.get(folded[0]) == "things" else folded
    return not any(_MAGNITUDES.search(word) for word in bare.split()) and _stands_in(bare, other.casefold())


def _stands_in(words: str, text: str) -> bool:
    if re.search(f"[{EAST_ASIAN}]", words):
        return words in text
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _latin(found: re.Match[str]) -> str:
    lift, lifted, unit, under = found.groups()[4 * (found[3] is None) :][:4]
    over = f"/{_LATIN[under]}" if under else ""
    read = f" {_LIFTED.get(lift or lifted or '', '')}{_LATIN[unit]}{over}"
    is_plain = found[3] is None and found.string[found.start() - 1].isdigit()
    followed = " " if found.string[found.end() : found.end() + 1].isdigit() else ""
    return f"{read}{followed}" if is_plain else f"\\text{{{read}}}"


def _money(found: re.Match[str]) -> str:
    return "RUB " if found[2] else "PHP " if found[3] else "INR "
