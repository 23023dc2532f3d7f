"""What runs on the other side of the fence, next to the learner's code.

Nothing here decides about points: it executes what it is sent and reports what happened, and the
side that grades believes none of it without a second look.
"""
