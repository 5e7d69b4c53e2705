# make demo          the main job: a PRR arm under three controllers, on real ROS 2 topics
# make test          the whole test suite           (make test ROS=jazzy: on the Jazzy wheels)
# make lint          ruff and mypy
# make bench         the dynamics engine beside Pinocchio (make bench BENCH=--json)
# make fuzz          spoilt URDFs and arrays, new ones each time (make fuzz FUZZ=200000)
# make clean         removes the environments
#
# In a shell where ROS 2 is sourced (ROS_DISTRO set) that installation's rclpy is used and no ROS wheel is installed.

ROS ?= $(or $(ROS_DISTRO),kilted)
PYTHON ?= python3
comma := ,

ifdef ROS_DISTRO
  VENV := .venv-sourced-$(ROS)
  VENV_FLAGS := --system-site-packages
  ROS_EXTRA :=
  CONSTRAINTS := $(VENV)/constraints.txt
else
  VENV := $(if $(filter kilted,$(ROS)),.venv,.venv-$(ROS))
  ROS_EXTRA := $(if $(filter kilted,$(ROS)),ros$(comma),ros-$(ROS)$(comma))
  CONSTRAINTS := .ci/constraints.txt .ci/constraints-$(ROS).txt
  export AMENT_PREFIX_PATH := $(CURDIR)/$(VENV)
endif

PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
INSTALL = $(PIP) install --quiet --use-pep517 $(addprefix -c ,$(CONSTRAINTS))
BUILD := setup.py package.xml $(wildcard .ci/constraints*.txt)

.PHONY: demo test lint bench fuzz clean

demo: $(VENV)/demo-installed
	@$(VENV)/bin/robodyn demo $(DEMO)

test: $(VENV)/test-installed
	$(VENV)/bin/python -m pytest $(TEST)

lint: $(VENV)/test-installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: $(VENV)/test-installed
	@$(VENV)/bin/python benchmarks/dynamics.py $(BENCH)

FUZZ ?= 10000
fuzz: $(VENV)/test-installed
	ROBODYN_FUZZ=$(FUZZ) $(VENV)/bin/python -m pytest test/test_fuzz_urdf.py test/test_fuzz_dynamics.py

clean:
	rm -rf .venv .venv-* build *.egg-info

$(VENV)/bin/python:
	@echo "Making $(VENV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV_FLAGS) $(VENV)

# What a sourced ROS 2 brings stays as it is: its messages are compiled against its NumPy.
.venv-sourced-%/constraints.txt: .venv-sourced-%/bin/python
	@$< -c "import numpy; print('numpy==' + numpy.__version__)" > $@

$(VENV)/demo-installed: $(VENV)/bin/python $(BUILD) $(filter $(VENV)/%,$(CONSTRAINTS))
	@echo "Installing into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot]"
	@touch $@

$(VENV)/test-installed: $(VENV)/demo-installed
	@echo "Installing what the tests need into $(VENV) ..."
	@$(INSTALL) -e ".[$(ROS_EXTRA)plot,test]"
	@touch $@
