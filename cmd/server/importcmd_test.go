package main

import (
	"strings"
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

// An import that brought nothing says so: an empty line reads like success.
func TestImportOfAnEmptyFolderSaysSo(t *testing.T) {
	t.Parallel()
	vars := env(map[string]string{"DATABASE_URL": pgtest.URL(t), "GATEHOUSE_DATA_DIR": t.TempDir()})
	var out, errOut strings.Builder
	if code := run([]string{"import", t.TempDir()}, vars, &out, &errOut); code != 0 || !strings.Contains(out.String(), "nothing was imported") {
		t.Errorf("%d %q %s", code, out.String(), errOut.String())
	}
}
