"""The words the component tests draw."""

WORDS = {
    "apple": ["小明", "把", "苹果", "放在", "桌子", "上", "，", "小红", "拿走", "了", "它"],
    "repeated": ["苹果", "和", "苹果", "和", "苹果"],
    "html": ["<b>x</b>", "**y**", "$z$", "a b", "<img src=x onerror=alert(1)>"],
    "signs": ["\u3000", " ", "\t", "\r\n", "\x07", "\x9b", "\u200b", "它"],
    "two": ["它", "们"],
    "english": ["The", "unbelievable", "cat", "sat", "on", "the", "mat", "because", "it", "slept"],
    "long": [f"{'甲乙丙丁戊己庚辛'[i % 8]}{i}" for i in range(64)],
    "longest": [f"词{i}" for i in range(128)],
}
