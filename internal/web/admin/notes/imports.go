package notes

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/gatehouse-hq/gatehouse/internal/domain/corpus"
	"github.com/gatehouse-hq/gatehouse/internal/web/edge"
	"github.com/gatehouse-hq/gatehouse/internal/web/ui"
)

// reportPage is how many files of an import are listed on a page.
const reportPage = 200

// importsView is the page that takes a vault, with the imports there were.
type importsView struct {
	flash   *ui.Flash
	form    *edge.Form
	parents []ui.Option
	past    []corpus.ImportReport
}

func (s *Section) imports(w http.ResponseWriter, r *http.Request) error {
	v := importsView{form: edge.Filled(url.Values{}), flash: edge.TakeFlash(w, r)}
	return s.showImports(w, r, http.StatusOK, v)
}

func (s *Section) showImports(w http.ResponseWriter, r *http.Request, status int, v importsView) error {
	var err error
	if v.past, err = s.corpus.Imports(r.Context()); err != nil {
		return err
	}
	if v.parents, err = s.paths(r.Context(), ""); err != nil {
		return err
	}
	return edge.Render(w, r, status, importsPage(v))
}

func (s *Section) upload(w http.ResponseWriter, r *http.Request) error {
	form, err := edge.ParseForm(r)
	if err != nil {
		return err
	}
	parentID, err := s.parent(r.Context(), form)
	if err != nil {
		return err
	}
	file, head, err := r.FormFile("archive")
	switch {
	case errors.Is(err, http.ErrMissingFile), errors.Is(err, http.ErrNotMultipart):
		form.Fail("archive", "Choose the zip file of a vault.")
	case err != nil:
		return err
	default:
		defer func() { _ = file.Close() }()
	}
	options := corpus.ImportOptions{Name: form.Text("name"), Into: parentID, PublishDefault: form.Bool("publish")}
	if options.Name == "" && head != nil {
		options.Name = vaultName(head.Filename)
	}
	if form.OK() {
		id, err := s.corpus.ImportUpload(r.Context(), file, options)
		if err == nil {
			edge.SetFlash(w, r, "notes-import-began", 0)
			return edge.SeeOther(w, r, address+"/import/"+id)
		}
		if !form.Absorb(err) {
			return err
		}
	}
	return s.showImports(w, r, http.StatusUnprocessableEntity, importsView{form: form})
}

// vaultName is what a vault is called by its archive: "Garden notes.zip" is "Garden notes".
func vaultName(file string) string {
	name := path.Base(strings.ReplaceAll(file, `\`, "/"))
	if ext := path.Ext(name); strings.EqualFold(ext, ".zip") {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// reportView is an import with one page of its files.
type reportView struct {
	flash   *ui.Flash
	report  corpus.ImportReport
	look    int            // files that need a look
	outcome corpus.Outcome // "" for all
	files   []corpus.ImportFile
	next    string
}

func (s *Section) report(w http.ResponseWriter, r *http.Request) error {
	report, err := s.corpus.ImportStatus(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	v := reportView{report: report, flash: edge.TakeFlash(w, r)}
	if v.look, err = s.corpus.ImportToLookAt(r.Context(), report.ID); err != nil {
		return err
	}
	v.outcome = v.asked(r.URL.Query().Get("outcome"))
	v.files, v.next, err = s.corpus.ImportFiles(r.Context(), report.ID, v.outcome, r.URL.Query().Get("after"), reportPage)
	if err != nil {
		return err
	}
	return edge.Render(w, r, http.StatusOK, importReport(v))
}

// asked is the choice in the address. Without one the report opens on what needs a look, once there is nothing to wait for.
func (v reportView) asked(text string) corpus.Outcome {
	if text == "" && v.look > 0 && v.report.State != "running" {
		return corpus.NeedsLook
	}
	if o := corpus.Outcome(text); o == corpus.NeedsLook || slices.Contains(outcomes(), o) {
		return o
	}
	return ""
}

// outcomes lists how a file can end, in the order that the report counts them.
func outcomes() []corpus.Outcome {
	return []corpus.Outcome{corpus.Imported, corpus.Unchanged, corpus.Kept, corpus.Skipped, corpus.Refused}
}

func (v reportView) address(outcome corpus.Outcome) string {
	if outcome == "" {
		outcome = "all"
	}
	return address + "/import/" + v.report.ID + "?outcome=" + string(outcome)
}

func (v reportView) tabs() []ui.Tab {
	all := 0
	var tabs []ui.Tab
	for _, o := range outcomes() {
		n := v.report.Counts[o]
		all += n
		tabs = append(tabs, ui.Tab{Label: outcomeName(o), Href: v.address(o), Count: ui.Count(n), Current: o == v.outcome})
	}
	first := []ui.Tab{{Label: "All", Href: v.address(""), Count: ui.Count(all), Current: v.outcome == ""}}
	if v.look > 0 {
		first = append([]ui.Tab{{Label: "Needs a look", Href: v.address(corpus.NeedsLook), Count: ui.Count(v.look), Current: v.outcome == corpus.NeedsLook}}, first...)
	}
	return append(first, tabs...)
}

func outcomeName(o corpus.Outcome) string {
	return strings.ToUpper(string(o[:1])) + string(o[1:])
}

func (v reportView) pager() ui.Pager {
	if v.next == "" {
		return ui.Pager{}
	}
	return ui.Pager{Older: v.address(v.outcome) + "&after=" + url.QueryEscape(v.next), Shown: ui.Count(len(v.files)) + " files", Plain: true}
}
