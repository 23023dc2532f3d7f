// The theme marks a section in the contents when its heading comes near the top of the window. After a
// jump (a dragged scroll bar, End, a found word) the mark is still at the section before the jump.
function follow() {
  const links = [...document.querySelectorAll("#pst-page-toc-nav a")];
  const top = link => document.getElementById(link.hash.slice(1))?.getBoundingClientRect().top ?? Infinity;
  const marked = links.find(link => link.classList.contains("active"));
  if (marked && top(marked) >= 0 && top(marked) < innerHeight) return;
  const here = links.findLast(link => top(link) < innerHeight * 0.3);
  for (const link of links) {
    link.classList.toggle("active", link === here);
    if (link === here) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  for (const entry of document.querySelectorAll("#pst-page-toc-nav .toc-entry"))
    entry.classList.toggle("active", entry.contains(here));
}

// A long list in a side bar is scrolled to what is marked in it.
function bring(bar, marked) {
  if (!bar || !marked) return;
  const frame = bar.getBoundingClientRect(), place = marked.getBoundingClientRect();
  if (place.top < frame.top || place.bottom > Math.min(frame.bottom, innerHeight))
    bar.scrollTop += place.top - frame.top - frame.height / 3;
}

addEventListener("scrollend", () => {
  follow();
  bring(document.querySelector(".bd-sidebar-secondary"), document.querySelector("#pst-page-toc-nav a.active"));
});
addEventListener("load", () => {
  bring(document.querySelector(".bd-sidebar-primary"), document.querySelector(".bd-sidebar-primary li.current > a"));
});

// A definition that the window's lower edge would cut is shown above its line.
for (const kind of ["mouseover", "focusin"])
  addEventListener(kind, event => {
    const link = event.target.closest?.(".bd-article a.term");
    if (!link) return;
    link.classList.remove("above");
    const box = getComputedStyle(link, "::after"), lines = [...link.getClientRects()];
    const height = parseFloat(box.height) + parseFloat(box.paddingTop) + parseFloat(box.paddingBottom);
    if (lines.at(-1).bottom + height + 8 < innerHeight) return;
    const article = link.closest(".bd-article").getBoundingClientRect();
    link.style.setProperty("--rise", `${article.bottom - lines[0].top + 2}px`);
    link.classList.add("above");
  });

// What the search shows of a page is from its text, and not from the buttons above it.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const text = Search.htmlToText, article = '<article class="bd-article"';
  Search.htmlToText = (page, anchor) =>
    text(page.replace(' role="main"', "").replace(article, `${article} role="main"`), anchor);
});
