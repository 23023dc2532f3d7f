"""Run `docs_pipeline`, each step in a container of its image: `in_images.py DATABASE_URL FOLDER`.

A step sees what a pod on a cluster does, and has no more rights. The engine is one of this machine
(the database is on its network), and kfp starts the containers. kfp changes `print` and logging
for good, so this is a program of its own.
"""

import os
import sys

from docker.types import Mount
from kfp import local

from course_lib.pipeline.catalogue import find_pipeline
from course_lib.pipeline.pipelines import DATA_FOLDER
from course_lib.settings import project_root

url, folder = sys.argv[1:]
local.init(
    local.DockerRunner(
        environment={"DATABASE_URL": url, "HOME": "/tmp", "COURSE_STATE": "/tmp/course"},
        mounts=[Mount(DATA_FOLDER, f"{project_root() / 'data'}", type="bind", read_only=True)],
        network_mode="host",
        read_only=True,
        tmpfs={"/tmp": "size=1g,mode=1777"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        init=True,
        user=f"{os.getuid()}:{os.getgid()}",
    ),
    pipeline_root=folder,
    enable_caching=False,
)
find_pipeline("docs_pipeline")()
