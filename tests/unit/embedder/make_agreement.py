"""Write `course_lib/embedder/agreement.json` anew: chunks, questions, and torch's top ten.

Run it by hand (`python tests/unit/embedder/make_agreement.py`) when the texts should change.
"""

import json

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.trial import AGREEMENT, top_ten
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.loader import read_documents, split_document
from course_lib.settings import project_root


def main() -> None:
    data = project_root() / "data"
    documents = read_documents(data / "documents")
    passages = [chunk.content for document in documents for chunk in split_document(document)]
    lines = (data / "questions" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    torch = EmbeddingClient(DEFAULT_MODEL, backend="torch")
    content = {
        "model": DEFAULT_MODEL,
        "passages": passages,
        "questions": questions,
        "top10": top_ten(torch.encode(questions), torch.encode(passages)),
    }
    text = json.dumps(content, ensure_ascii=False, indent=0)
    AGREEMENT.write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
