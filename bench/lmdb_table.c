/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include <lmdb.h>

#include "base/clock.h"
#include "bench/die.h"
#include "bench/lmdb_table.h"

struct value {
	unsigned char holder[16];
	int64_t deadline, acquired;
	uint64_t token;
};

static MDB_env *env;
static MDB_dbi dbi;
static MDB_txn *reader;

static void must(int error, const char *what)
{
	if (error)
		die("lmdb %s: %s", what, mdb_strerror(error));
}

void lmdb_table_open(const char *directory, size_t map_bytes)
{
	MDB_txn *txn;

	must(mdb_env_create(&env), "create");
	must(mdb_env_set_mapsize(env, map_bytes), "mapsize");
	must(mdb_env_open(env, directory,
			  MDB_NOSYNC | MDB_NOMETASYNC | MDB_WRITEMAP | MDB_NORDAHEAD, 0600),
	     "open");
	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	must(mdb_dbi_open(txn, NULL, 0, &dbi), "dbi");
	must(mdb_txn_commit(txn), "commit");
	must(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader), "reader");
	mdb_txn_reset(reader);
}

static MDB_val key_of(const char *key)
{
	return (MDB_val){strlen(key), (void *)(uintptr_t)key};
}

bool lmdb_table_acquire(const char *name, const unsigned char holder[16], long ttl_s)
{
	MDB_val key = key_of(name), data;
	struct value value = {.token = 1};
	int64_t now;
	MDB_txn *txn;

	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	now = clock_boot_us();
	if (mdb_get(txn, dbi, &key, &data) == 0) {
		memcpy(&value, data.mv_data, sizeof value);
		if (value.deadline > now) {
			mdb_txn_abort(txn);
			return false;
		}
	}
	memcpy(value.holder, holder, sizeof value.holder);
	value.acquired = now;
	value.deadline = now + ttl_s * CLOCK_SECOND;
	value.token++;
	data = (MDB_val){sizeof value, &value};
	must(mdb_put(txn, dbi, &key, &data, 0), "put");
	must(mdb_txn_commit(txn), "commit");
	return true;
}

bool lmdb_table_release(const char *name, const unsigned char holder[16])
{
	MDB_val key = key_of(name), data;
	MDB_txn *txn;

	must(mdb_txn_begin(env, NULL, 0, &txn), "begin");
	if (mdb_get(txn, dbi, &key, &data) != 0 || memcmp(data.mv_data, holder, 16) != 0) {
		mdb_txn_abort(txn);
		return false;
	}
	must(mdb_del(txn, dbi, &key, NULL), "del");
	must(mdb_txn_commit(txn), "commit");
	return true;
}

bool lmdb_table_inspect(const char *name)
{
	MDB_val key = key_of(name), data;
	struct value value;
	bool held;

	must(mdb_txn_renew(reader), "renew");
	held = mdb_get(reader, dbi, &key, &data) == 0;
	if (held) {
		memcpy(&value, data.mv_data, sizeof value);
		held = value.deadline > clock_boot_us();
	}
	mdb_txn_reset(reader);
	return held;
}
