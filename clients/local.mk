# SPDX-License-Identifier: Apache-2.0
python_client = \
	clients/python/README.md \
	clients/python/mindd/client/__init__.py \
	clients/python/mindd/client/_details.py \
	clients/python/mindd/client/_hold.py \
	clients/python/mindd/client/_lease.py \
	clients/python/mindd/client/_mindd.py \
	clients/python/mindd/client/_requests.py \
	clients/python/mindd/client/_retry.py \
	clients/python/mindd/client/_term.py \
	clients/python/mindd/client/_values.py \
	clients/python/mindd/client/aio.py \
	clients/python/mindd/client/errors.py \
	clients/python/mindd/client/py.typed \
	clients/python/pyproject.toml \
	clients/python/setup.py
EXTRA_DIST += $(python_client) clients/example.py \
	examples/README.md \
	examples/go/go.mod examples/go/go.sum examples/go/main.go \
	examples/node/hold.js examples/node/package.json \
	examples/python/aio.py examples/python/fencing.py examples/python/hold.py \
	examples/shell/deploy.sh

# The client as a wheel, in clients/python/dist. Built from a copy: pip leaves traces where it builds.
.PHONY: python-wheel
python-wheel:
	@rm -rf clients/python/copy && $(MKDIR_P) clients/python/dist clients/python/copy
	@cp -r $(srcdir)/clients/python/. clients/python/copy/
	$(AM_V_GEN)MINDD_PROTO=$(abs_srcdir)/proto PROTOC=$(PROTOC) /usr/bin/python3 -m pip wheel --quiet \
		--no-index --no-deps --no-build-isolation -w clients/python/dist clients/python/copy
	@rm -rf clients/python/copy
