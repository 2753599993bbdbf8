# SPDX-License-Identifier: Apache-2.0
# `make bench`: not a test. Needs libnghttp2-dev, liblmdb-dev and postgresql.
bench_programs = bench/leasebench bench/bench-echo bench/bench-table bench/bench-pg
EXTRA_PROGRAMS += $(bench_programs)
EXTRA_DIST += bench/run.py bench/postgres.py

bench_cflags = $(AM_CFLAGS) $(GRPC_CFLAGS) $(PROTOBUF_C_CFLAGS)
bench_die = bench/die.c bench/die.h

bench_leasebench_SOURCES = bench/leasebench.c $(bench_die) \
	bench/connection.c bench/connection.h \
	bench/histogram.c bench/histogram.h \
	bench/lease_message.c bench/lease_message.h
bench_leasebench_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_leasebench_CFLAGS = $(bench_cflags)
bench_leasebench_LDADD = libproto.a $(PROTOBUF_C_LIBS) -lnghttp2
$(bench_leasebench_OBJECTS): | $(generated_headers)

bench_bench_echo_SOURCES = bench/echo.c bench/answer.h $(bench_die)
bench_bench_echo_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_bench_echo_CFLAGS = $(bench_cflags)
bench_bench_echo_LDADD = $(GRPC_LIBS)

bench_bench_table_SOURCES = bench/table.c bench/lmdb_table.c bench/lmdb_table.h $(bench_die)
bench_bench_table_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_bench_table_LDADD = libshm.a libcore.a libbase.a $(JANSSON_LIBS) -llmdb $(LIBS)

bench_bench_pg_SOURCES = bench/pg_load.c bench/pg_host.c bench/pg_host.h $(bench_die) \
	bench/histogram.c bench/histogram.h
bench_bench_pg_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_bench_pg_CFLAGS = $(AM_CFLAGS) $(PQ_CFLAGS)
bench_bench_pg_LDADD = libpg.a libcore.a libbase.a $(PQ_LIBS) $(JANSSON_LIBS) $(LIBS)

.PHONY: bench
bench: leased leased-token $(bench_programs)
	@/usr/bin/python3 $(srcdir)/bench/run.py .
