# Every task is a thin call: `make run LAB=01` is `course run 01` in .venv, set up first.
# Without make: `python3 course_lib/bootstrap.py` once, then the same with .venv/bin/course.

PYTHON ?= python3
ifeq ($(OS),Windows_NT)
COURSE := .venv/Scripts/course
MODULE := .venv/Scripts/python -m
else
COURSE := .venv/bin/course
MODULE := .venv/bin/python -m
endif

.DEFAULT_GOAL := help
.PHONY: help setup run test test-long test-containers test-browser lab start build grade bench faults site doctor model images up down clean lock licences

help:  ## list the tasks
	@echo "make TASK, where TASK is one of"
	@sed -n 's/^\([a-z-]*\):[^#]*## /  \1|/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup:  ## create or mend .venv and install everything (most other tasks do this first)
	@$(PYTHON) course_lib/bootstrap.py

run: setup  ## execute the solutions and write build/run/index.html; LAB=01 takes one
	@$(COURSE) run $(LAB)

test: setup  ## all checks and tests, as CI runs them; LAB=01 takes what is about one lab
	@$(COURSE) test $(LAB)

test-long: setup  ## the tests that take many minutes
	@$(COURSE) test --long

test-containers: setup  ## build the images and run them: needs a Docker engine
	@$(COURSE) test --containers

test-browser: setup  ## run every lab in JupyterLab in Chromium; pictures in build/browser/
	@$(COURSE) test --browser

lab: setup  ## open JupyterLab on your copies in my/, with the lab that you started last; LAB=07 takes another
	@$(COURSE) lab $(LAB)

start: setup  ## copy the labs into my/, where you work: make start LAB=01
	@$(COURSE) start $(or $(LAB),$(error which lab? make start LAB=01))

build: setup  ## make the notebooks from their sources; LAB=01 takes one, CHECK=1 only compares
	@$(MODULE) infra.course build $(LAB) $(if $(CHECK),--check)

grade: setup  ## grade submissions: make grade CLASS=my-class LAB=01 SUBMISSIONS=submissions.zip
	@$(COURSE) grade $(SUBMISSIONS) --class $(or $(CLASS),$(error which class? make grade CLASS=my-class LAB=01)) --lab $(or $(LAB),$(error which lab? make grade CLASS=my-class LAB=01))

bench: setup  ## measure speed against named peers; PART=yaml takes one
	@$(MODULE) tests.bench $(PART)

faults: setup  ## kill, fill and feed the system, and compare what is left
	@$(MODULE) tests.faults

site: setup  ## build the course as a site: build/site/index.html, without a network
	@$(MODULE) infra.course site

doctor: setup  ## say what is wrong on this machine, and the fix
	@$(COURSE) doctor

model: setup  ## fetch a language model, 1.1 GB, which answers with --backend local
	@$(MODULE) infra.course model

images:  ## build the three images of infra/docker, for Docker or Kind
	@infra/setup-kubeflow.sh images

up: setup  ## start PostgreSQL in Docker instead of the embedded one
	@$(COURSE) up

down: setup  ## stop PostgreSQL in Docker; its data stays
	@$(COURSE) down

clean: setup  ## stop the embedded server and remove what was made, except .venv and my/
	@$(COURSE) clean

lock: setup  ## resolve all dependencies and write requirements.lock; UPGRADE=1 takes the newest
	@$(MODULE) infra.course lock $(if $(UPGRADE),--upgrade)

licences: setup  ## write infra/THIRD_PARTY.md for the installed packages
	@$(MODULE) infra.course licences
