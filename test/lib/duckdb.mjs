// duckdb.mjs -- queries, one per line of stdin, to DuckDB; a line of JSON for each: the rows, or {"error": ...}.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { DuckDBInstance } = createRequire(process.argv[2] + '/')('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();

for await (const query of createInterface({ input: process.stdin })) {
	try {
		const reader = await connection.runAndReadAll(query);
		console.log(JSON.stringify(reader.getRowObjectsJson()));
	} catch (e) {
		console.log(JSON.stringify({ error: String(e) }));
	}
}
