import { renderToStaticMarkup } from "react-dom/server";
import { MantineProvider } from "@mantine/core";
import { describe, expect, it } from "vitest";
import { grow, isOpenCode, noBlocks } from "../src/markdown/blocks";
import { pieces } from "../src/markdown/CodeBlock";
import { spansOf } from "../src/markdown/highlight";
import { namesHost, safeLink } from "../src/markdown/links";
import { Markdown } from "../src/markdown/Markdown";
import { rasterOf, rasterUrl } from "../src/markdown/raster";

const html = (text: string) =>
  renderToStaticMarkup(
    <MantineProvider withCssVariables={false} withGlobalClasses={false}>
      <Markdown text={text} isStreaming={false} />
    </MantineProvider>,
  );

/** Read a text as it would arrive: a few characters at a time. */
function stream(text: string, step: number) {
  let blocks = noBlocks;
  for (let at = step; at < text.length + step; at += step) blocks = grow(blocks, text.slice(0, at));
  return blocks;
}

const sample = [
  "# Title",
  "A paragraph with **bold** text.",
  "- one\n- two\n\n  more of two\n- three",
  "```js\nlet a = 1;\n\nlet b = 2;\n```",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "> quoted",
  "last words",
].join("\n\n");

describe("blocks", () => {
  it.each([1, 3, 7, 50])("are the same whether the text comes at once or in pieces of %i", (step) => {
    const streamed = stream(sample, step);
    const whole = grow(noBlocks, sample);
    const raws = (blocks: typeof whole) => [...blocks.finished, ...blocks.tail].map((token) => [token.type, token.raw]);
    expect(raws(streamed)).toEqual(raws(whole));
  });

  it("keep a finished block as the very same object", () => {
    const before = grow(noBlocks, "one\n\ntwo\n\nthr");
    const after = grow(before, "one\n\ntwo\n\nthree\n\nfour");
    expect(after.finished[0]).toBe(before.finished[0]);
    expect(after.finished[1]).toBe(before.finished[1]);
  });

  it("start anew when the text is not a continuation", () => {
    const blocks = grow(grow(noBlocks, "one\n\ntwo"), "other");
    expect([...blocks.finished, ...blocks.tail].map((token) => token.raw)).toEqual(["other"]);
  });

  it("cut a long list so that its finished points are not read again", () => {
    const list = Array.from({ length: 100 }, (_, at) => `${at + 1}. point ${at + 1}`).join("\n");
    const blocks = stream(list, 13);
    expect(blocks.tailStart).toBeGreaterThan(list.length / 2);
    expect(html(list).match(/<li>/g)?.length).toBe(100);
    expect(html(list)).toContain('<ol start="100">');
  });

  it("know an open code block from a closed one", () => {
    const open = grow(noBlocks, "```js\nlet a").tail[0];
    const closed = grow(noBlocks, "```js\nlet a\n```").tail[0];
    expect(open && isOpenCode(open)).toBe(true);
    expect(closed && isOpenCode(closed)).toBe(false);
  });

  it("leave a gigantic line plain and stay quick", () => {
    const began = process.cpuUsage();
    const blocks = grow(noBlocks, "*a_[`".repeat(400_000));
    expect([...blocks.finished, ...blocks.tail].length).toBe(1);
    expect(milliseconds(began)).toBeLessThan(2_000);
  });
});

/** Return how long the processor worked since then: others that use it, too, do not count. */
function milliseconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

/** Return what a person reads of a text, and which words are drawn with emphasis. */
function seen(text: string) {
  const drawn = html(text);
  const plain = drawn
    .replace(/<br\/?>/g, "\n")
    .replace(/<[^>]+>/g, "")
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&#x27;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, "&");
  return { plain, emphasis: [...drawn.matchAll(/<(?:em|strong)>(.*?)<\/(?:em|strong)>/g)].map(([, words]) => words) };
}

describe("a formula", () => {
  const aligned = "\\[\n\\begin{aligned}\na &= b_1 \\\\\n- c_1 &= *d*\n\n= e &\\lt; f\n\\end{aligned}\n\\]";

  it.each([
    "The angle \\( \\alpha \\) is \\(x_1 * y_1 * z\\).",
    "\\[ \\sum_{i=1}^n i_i = \\{a\\} * b * c \\]",
    "$$\\int_0^1 x_1 dx_2 * y * z$$",
    "Where $a_1$ and $b_1$ and $x * y * z$ and $\\alpha_{1}$, $2\\pi_1 r_2$ and $3*4*5$.",
    "$$\nx_1 = y_1\n+ z_1\n$$",
    "$a<b>c$ and \\(a &lt; b\\)",
    "\\begin{align*}\na_1 &= b_1 \\\\\n+ c_1\n\\end{align*}",
    "# Of \\(x_1\\)".slice(2),
    aligned,
    `Text before\n${aligned}`,
    "\\(α_1 + β_1\\) and $\\|x\\|_1 + |y_1|$",
  ])("is shown exactly as it is written: %j", (text) => {
    expect(seen(text)).toEqual({ plain: text, emphasis: [] });
  });

  it("stands in tables, lists, headings, quotations and emphasis as in any text", () => {
    expect(html("| a | b |\n|---|---|\n| $x_1$ and \\(y_1\\) | $\\|z\\|_1$ |").match(/<td>(.*?)<\/td>/g)?.map((cell) => cell.replace(/<[^>]+>/g, ""))).toEqual(
      ["$x_1$ and \\(y_1\\)", "$\\|z\\|_1$"],
    );
    expect(html("| in $ | at $ |\n|---|---|\n| 1 | 2 |").match(/<th>/g)?.length).toBe(2);
    expect(seen("1. One:\n   \\[\n   x_1\n   - y_1\n   \\]\n2. Two").plain).toBe("One:\n\\[\nx_1\n- y_1\n\\]Two");
    expect(html("1. One:\n   \\[\n   x_1\n   \\]\n2. Two").match(/<li>/g)?.length).toBe(2);
    expect(seen("> \\[\n> x_1 * y * z\n> \\]").plain).toBe("\\[\nx_1 * y * z\n\\]");
    expect(seen("**\\(x_1\\)** and *$y_1$*").emphasis.map((words) => words?.replace(/<[^>]+>/g, ""))).toEqual([
      "\\(x_1\\)",
      "$y_1$",
    ]);
  });

  it("leaves code, escapes, links and sums of money alone", () => {
    expect(seen("`\\(a\\)` and `$x_1$` cost $5 and **$6**, or **$5** and **10$**, US$7_a_ $HOME_X and $PATH_Y").plain).toBe(
      "\\(a\\) and $x_1$ cost $5 and $6, or $5 and 10$, US$7_a_ $HOME_X and $PATH_Y",
    );
    expect(seen("**$5** and **10$**").emphasis).toEqual(["$5", "10$"]);
    expect(seen("\\*not\\* \\_this\\_ \\$5\\$ \\# \\\\").plain).toBe("*not* _this_ $5$ # \\");
    expect(seen("\\[not a link\\](x) and *so*").plain).toBe("[not a link](x) and so");
    expect(html("[x](https://example.com/a_\\(b\\))")).toContain('href="https://example.com/a_(b)"');
    expect(html("```sh\necho $$\n```\n\n**bold**\n\n```sh\necho $$\n```")).toContain("<strong>bold</strong>");
    expect(seen("Open with \\( only.\n\n*Then* \\) closes.").emphasis).toEqual(["Then"]);
    expect(html("- press \\( to open\n- or \\) to close").match(/<li>/g)?.length).toBe(2);
    expect(seen("`$$` is the process and *$$* too").emphasis).toEqual(["$$"]);
  });

  it.each([1, 2, 5, 17])("is the same when it comes in pieces of %i", (step) => {
    const text = `${sample}\n\nSo \\(a_1\n+ b_1\\) it\n${aligned}\n\n*is* $$\nx\n\n- y_1\n$$ and \\[\n\n- never closed\n\n${sample}`;
    const read = (blocks: ReturnType<typeof grow>) => [...blocks.finished, ...blocks.tail];
    expect(read(stream(text, step))).toEqual(read(grow(noBlocks, text)));
  });

  it.each(["\\(", "\\[\n", "$$ ", "$a ", "` `` ", "\\begin{a}\n", "~~~\n\\(", "$x$"])("of many signs %j stays quick", (signs) => {
    const began = process.cpuUsage();
    grow(noBlocks, signs.repeat(100_000));
    expect(milliseconds(began)).toBeLessThan(3_000);
  });
});

describe("markup in a text", () => {
  it("is shown and never obeyed", { tags: ["UI-01", "UI-02"] }, () => {
    const texts = [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "<svg onload=alert(1)>",
      '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
      "text <b onclick=alert(1)>bold</b>",
      "**<a href='javascript:alert(1)'>x</a>**",
      "| <img src=x onerror=alert(1)> |\n|---|\n| <svg/onload=alert(1)> |",
      "`<script>` &lt;script&gt;alert(1)&lt;/script&gt;",
      '[x](<javascript:alert(1)> "<img src=x onerror=alert(1)>")',
      "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    ];
    for (const text of texts) {
      const made = html(text).replace(/<svg[^>]*aria-hidden[^]*?<\/svg>/g, "");
      expect(made, text).not.toMatch(/<(script|img|svg|iframe|math|style|object|embed|link|b\b)/i);
      expect(made, text).not.toMatch(/<[^>]+\son\w+=/i);
      expect(made, text).not.toMatch(/href="(?!https?:|mailto:)/i);
    }
  });

  it("draws nothing that looks like a question of the page", { tags: ["UI-10"] }, () => {
    const made = html('Allow it? <button class="ph-asking">Allow</button>\n\n<section class="ph-asking">Allow it?</section>');
    expect(made).not.toMatch(/<(button|section)/);
    expect(made).toContain("&lt;button class=&quot;ph-asking&quot;&gt;Allow&lt;/button&gt;");
  });

  it("may break a line", () => {
    expect(html("one<br>two")).toContain("<br/>");
  });
});

describe("links", () => {
  it("that would run something stay text", { tags: ["UI-03"] }, () => {
    const targets = [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "javascript&#58;alert(1)",
      "javascript&colon;alert(1)",
      "java\tscript:alert(1)",
      "java&Tab;script:alert(1)",
      "\u0001javascript:alert(1)",
      "data:text/html,<script>alert(1)</script>",
      "vbscript:x",
      "/api/state",
      "",
    ];
    for (const target of targets) expect(safeLink(target), target).toBeNull();
  });

  it("to other programs, files or shares stay text", { tags: ["UI-05"] }, () => {
    const targets = [
      "file:///etc/passwd",
      "smb://host/share",
      "\\\\host\\share",
      "ms-word:ofe|u|http://x",
      "blob:https://x",
      "//host/path",
    ];
    for (const target of targets) expect(safeLink(target), target).toBeNull();
  });

  it("that are honest work", () => {
    expect(safeLink("https://example.org/a?b=c")?.href).toBe("https://example.org/a?b=c");
    expect(safeLink("mailto:someone@example.org")?.host).toBe("someone@example.org");
    expect(html("[the docs](https://example.org)")).toContain('rel="noopener noreferrer"');
  });

  it("fetch nothing by themselves", { tags: ["EXFIL-08"] }, () => {
    const made = html("[the docs](https://example.org/a) <https://example.org/b> ![x](https://example.org/c.png)");
    expect(made.match(/href="https:/g)).toHaveLength(3);
    expect(made).not.toMatch(/<(?!a |p|span|div)[a-z]|\ssrc(set)?=|\srel="(?!noopener noreferrer")|\sping=/);
  });

  it("lose what pretends to be a host before an @", () => {
    expect(safeLink("https://bank.example@evil.example/x")?.href).toBe("https://evil.example/x");
  });

  it("name the real host unless their text does, and always when it is a lookalike", () => {
    expect(namesHost("https://bank.example.com", "evil.example.net")).toBe(false);
    expect(namesHost("bank.example.com/login", "bank.example.com")).toBe(true);
    expect(namesHost("the docs", "example.org")).toBe(false);
    expect(namesHost("someone@example.org", "someone@example.org")).toBe(true);
    expect(namesHost("http://localhost:8000/x", "localhost:8000")).toBe(true);
    expect(namesHost("http://127.0.0.1:8000/x", "127.0.0.1:8000")).toBe(true);
    expect(html("[https://аpple.com](https://аpple.com)")).toContain("xn--");
  });

  it.each([
    "evil.example and bank.example",
    "(bank.example) https://evil.example",
    "bank.example https://evil.example/",
    "https://bank.example@evil.example",
    "https://evil.example/\u202emoc.elpmaxe.knab//:sptth",
    "https://evil.example/&#8238;moc",
    "\u202eevil.example",
  ])("name the real host when their text is more than its address: %s", (text) => {
    expect(namesHost(text, "evil.example")).toBe(false);
  });

  it("say nothing twice when their text is their address", () => {
    for (const text of ["https://evil.example/a?b=c#d", "www.evil.example", "http://evil.example/wiki/Köln", " evil.example "])
      expect(namesHost(text, "evil.example")).toBe(true);
    expect(namesHost("https://[::1]:80/x", "[::1]:80")).toBe(true);
  });

  it("to mailboxes that nobody can write down break nothing", () => {
    expect(html("[write](mailto:%ff@example.org)")).toContain("(%ff@example.org)");
    expect(html("[write](mailto:?to=a@example.org)")).not.toContain("<a");
    expect(html("[write](mailto:a%E2%80%AEb@example.org)")).not.toContain("\u202e");
  });
});

describe("images", () => {
  it("of other hosts are a link that names the host", () => {
    const made = html("![chart](https://tracker.example.com/p.png?q=SECRET)");
    expect(made).not.toContain("<img");
    expect(made).toContain("(tracker.example.com)");
  });

  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  it("that are part of the text are shown when they are raster images", () => {
    expect(html(`![dot](data:image/png;base64,${pixel})`)).toContain("<img");
    expect(rasterUrl(pixel)).toContain("data:image/png");
  });

  it("that are no raster images are not", () => {
    const svg = btoa("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>");
    expect(html(`![x](data:image/svg+xml;base64,${svg})`)).not.toContain("<img");
    expect(html(`![x](data:image/png;base64,${svg})`)).not.toContain("<img");
  });

  it("of absurd size are not", () => {
    const bytes = Uint8Array.from(atob(pixel), (char) => char.charCodeAt(0));
    new DataView(bytes.buffer).setUint32(16, 50_000);
    new DataView(bytes.buffer).setUint32(20, 50_000);
    expect(rasterOf(bytes)).toBeNull();
  });
});

describe("code", () => {
  it("is cut into pieces of whole lines that give the exact code again", () => {
    const code = Array.from({ length: 150 }, (_, at) => `line ${at}`).join("\n");
    const cut = pieces([["hljs-comment", code.slice(0, 300)], ["", code.slice(300)]]);
    expect(cut.length).toBe(3);
    expect(cut.flat().map(([, text]) => text).join("")).toBe(code);
  });

  it("gets its colours from marks", () => {
    const marks = Uint32Array.from([1, 3, 0, 2]);
    expect(spansOf("let a", { names: ["", "hljs-keyword"], marks })).toEqual([["hljs-keyword", "let"], ["", " a"]]);
  });

  it("shows what was copied: nothing hidden stands in it", () => {
    expect(html("```sh\nrm <b>x</b> &amp; y\n```")).toContain("rm &lt;b&gt;x&lt;/b&gt; &amp;amp; y");
  });
});
