package meili

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meilisearch/meilisearch-go"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// heldOf reads id and version of a document. Somebody else's document in our
// index may have a number for an id and any version or none: it must be listed
// all the same, or it could never be found out and removed.
func heldOf(hit meilisearch.Hit) (search.Held, error) {
	raw := hit[key]
	if len(raw) == 0 {
		return search.Held{}, fmt.Errorf("a document of the index has no %s", key)
	}
	h := search.Held{ID: strings.Trim(string(raw), `"`)} // ids hold letters, digits, - and _ only
	if err := json.Unmarshal(hit["version"], &h.Version); err != nil {
		h.Version = 0
	}
	return h, nil
}
