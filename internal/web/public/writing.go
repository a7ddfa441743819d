package public

import (
	"net/http"
	"strconv"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
)

// year is one year of the archive.
type year struct {
	name  string
	notes []corpus.Note
}

func (s *Site) archive(w http.ResponseWriter, r *http.Request) error {
	months, err := s.notes.PublicArchive(r.Context(), nil)
	if err != nil {
		return err
	}
	var years []year
	for _, m := range months {
		name := strconv.Itoa(m.Year)
		if len(years) == 0 || years[len(years)-1].name != name {
			years = append(years, year{name: name})
		}
		last := &years[len(years)-1]
		last.notes = append(last.notes, m.Notes...)
	}
	return edge.RenderPublic(w, r, archivePage(years))
}
