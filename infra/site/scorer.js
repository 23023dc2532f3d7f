// What counts in the site's search: Sphinx's own numbers, but a heading that holds the words first.
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) =>
    kind === "title" ? score + 100 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
