// Package pgtest gives tests databases of a real PostgreSQL.
//
// A package that uses it says so once:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// and each test asks for a database of its own, which nobody else sees, so that tests run in parallel:
//
//	db := pgtest.New(t)
//
// The database is a copy of a template that holds the current schema and the queue's; the copy takes some 50 ms and
// goes away with the test. The PostgreSQL is the one GATEHOUSE_TEST_DATABASE_URL names (scripts/testcluster starts one
// for a whole run), else a private cluster that lives as long as the package's tests and does not outlive them even
// when they are killed.
package pgtest
