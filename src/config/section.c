/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the sections of the schema and puts each value where it belongs. */
#include <string.h>

#include "base/check.h"
#include "config/reader.h"

static void read_key(struct reader *reader, const struct schema_key *key, const struct node *node,
		     const char *path);

static void read_section(struct reader *reader, const struct schema_key *keys,
			 const struct node *map, const char *path)
{
	const char *names[SCHEMA_KEYS_MAX + 1] = {NULL};
	const struct node *found[SCHEMA_KEYS_MAX];

	for (size_t i = 0; keys[i].name; i++) {
		CHECK(i < SCHEMA_KEYS_MAX);
		names[i] = keys[i].name;
	}
	if (!reader_fields(reader, map, path, names, found))
		return;
	for (size_t i = 0; keys[i].name; i++) {
		char below[PATH_SIZE];

		reader_path(below, path, keys[i].name);
		if (found[i])
			read_key(reader, &keys[i], found[i], below);
	}
}

static void read_key(struct reader *reader, const struct schema_key *key, const struct node *node,
		     const char *path)
{
	switch (key->kind) {
	case SCHEMA_SECTION:
		read_section(reader, key->keys, node, path);
		break;
	case SCHEMA_VALUE:
		if (reader_value(reader, node, path, &schema_value[key->value],
				 &reader->config->value[key->value]))
			reader->value[key->value] = node;
		break;
	case SCHEMA_TCP:
		reader->tcp = node;
		break;
	case SCHEMA_UDS:
		reader->uds = node;
		break;
	case SCHEMA_BACKENDS:
		reader->backends = node;
		break;
	case SCHEMA_NAMESPACES:
		reader->namespaces = node;
		break;
	case SCHEMA_PASETO_KEY:
		reader->paseto_key = node;
		break;
	case SCHEMA_PASETO_KEYS:
		reader->paseto_keys = node;
		break;
	case SCHEMA_JWT_KEYS:
		reader->jwt_keys = node;
		break;
	}
}

/* Said plainly rather than served in the clear. */
static void refuse_tls(struct reader *reader)
{
	static const enum value_id tls[] = {VALUE_CERT_FILE, VALUE_KEY_FILE, VALUE_CLIENT_CA_FILE,
					    VALUE_REQUIRE_CLIENT_CERT};

	for (size_t i = 0; i < sizeof tls / sizeof *tls; i++)
		if (reader->value[tls[i]])
			reader_error(reader, reader->value[tls[i]]->key, NULL,
				     "server.grpc.tls.%s: TLS is not supported yet",
				     schema_value[tls[i]].name);
}

void section_read(struct reader *reader, const struct node *root)
{
	for (size_t i = 0; i < VALUE_COUNT; i++)
		reader->config->value[i] = schema_value[i].fallback;
	if (root)
		read_section(reader, schema_root, root, "");
	refuse_tls(reader);
	if (reader->value[VALUE_PROMETHEUS_PATH] &&
	    reader->value[VALUE_PROMETHEUS_PATH]->text[0] != '/')
		reader_error(reader, reader->value[VALUE_PROMETHEUS_PATH], NULL,
			     "observability.metrics.prometheus.path: a path starts with /");
	if (reader->value[VALUE_STATE_DIR] && reader->value[VALUE_STATE_DIR]->text[0] != '/')
		reader_error(reader, reader->value[VALUE_STATE_DIR], NULL,
			     "server.state_dir: the path must be absolute");
}
