package river_test

import (
	"testing"

	"github.com/gatehouse-hq/gatehouse/internal/infra/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.NoLeaks) }
