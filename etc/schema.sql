-- SPDX-License-Identifier: Apache-2.0
--
-- The table of the postgres driver. leased makes it by itself when its role may; run this as the
-- owner when it may not, or when `create_table: false` is set, and grant what stands at the end.
-- PostgreSQL 13 or newer, a database encoded in UTF8. A small database of its own is best: a long
-- query or a backup elsewhere in the same database keeps old row versions from being cleaned up.
--
--   psql -v ON_ERROR_STOP=1 -f schema.sql DATABASE

CREATE TABLE IF NOT EXISTS leases (
    -- Compared byte for byte and listed in the order of bytes, whatever the database's locale is.
    namespace     text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    -- Proves who may renew and release.
    holder_id     uuid NOT NULL,
    -- The fencing token: the last one plus one, or the clock in microseconds, whichever is greater.
    fence         bigint NOT NULL,
    acquired_at   timestamptz NOT NULL,
    -- Held while this is in the future of the database's clock. A release sets it to now.
    expires_at    timestamptz NOT NULL,
    -- Until then somebody waits for the key: a release notifies channel "leased".
    waiters_until timestamptz NOT NULL DEFAULT '-infinity',
    owner         text COLLATE "C" NOT NULL DEFAULT '',
    request_id    text COLLATE "C" NOT NULL DEFAULT '',
    -- A JSON object of strings. Not jsonb: that would change the order of keys.
    metadata      text COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, key)
) WITH (
    -- No other index, and room in each page: then an update never touches an index (HOT), and the
    -- table stays as small as it is.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 20000
);

-- The row with an empty namespace and key is no lease: it keeps the greatest fencing token of the
-- rows that were removed.

-- What leased needs:
--   GRANT SELECT, INSERT, UPDATE, DELETE ON leases TO leased;

-- Who holds what:
--   SELECT namespace, key, owner, acquired_at, expires_at - clock_timestamp() AS remaining
--     FROM leases WHERE expires_at > clock_timestamp() ORDER BY namespace, key;
