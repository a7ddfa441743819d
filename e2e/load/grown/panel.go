package grown

import (
	"context"
	"fmt"
	"html"
	"net/url"
	"regexp"

	"github.com/gatehouse-hq/gatehouse/e2e/load/lab"
	"github.com/gatehouse-hq/gatehouse/e2e/load/product"
	"github.com/gatehouse-hq/gatehouse/e2e/load/report"
)

// pages are the panel's lists, with filters and without.
func pages() (list []product.Page) {
	add := func(name, path string) { list = append(list, product.Page{Name: name, Path: path}) }
	add("Overview", "/admin/")
	add("Tasks", "/admin/tasks")
	for _, state := range []string{"pending", "running", "retryable", "completed", "discarded", "cancelled"} {
		add("Tasks, "+state, "/admin/tasks?state="+state)
	}
	for _, search := range []string{"kind:corpus.index", "kind:webhook.recover", "state:completed kind:webhook.fanout", "args.event_id:0197d0f0-5f2c-7c3e-9d50-000000000fff",
		"args.endpoint_id:0197d0f0-5f2c-7c3e-9d50-1c9a7f0a4b03", "refused", "answered 500", "no error says this"} {
		add("Tasks, search “"+search+"”", "/admin/tasks?q="+url.QueryEscape(search))
	}
	add("Tasks, kind webhook.deliver and completed", "/admin/tasks?kind=webhook.deliver&state=completed")
	add("Events", "/admin/events")
	for _, state := range []string{"waiting", "delivered", "poisoned"} {
		add("Events, "+state, "/admin/events?state="+state)
	}
	add("Events, type corpus.**", "/admin/events?type=corpus.**")
	add("Events, type owner.login", "/admin/events?type=owner.login")
	add("Events, one subject", "/admin/events?subject="+url.QueryEscape("wiki://seeded-77"))
	add("Periodic", "/admin/periodic")
	add("Webhooks", "/admin/webhooks")
	return list
}

// older finds the link to the next page of a list.
var older = regexp.MustCompile(`href="(/admin/(?:tasks|events)\?[^"]*cursor=[^"]*)"`)

// panel asks for each page as the signed-in owner.
func panel(ctx context.Context, l *lab.Lab, s *product.Site, section *report.Section) error {
	list := pages()
	for _, p := range []product.Page{{Name: "Tasks, second page", Path: "/admin/tasks"}, {Name: "Events, second page", Path: "/admin/events"}} {
		_, _, body, err := s.AsOwner(ctx, p.Path)
		if err != nil {
			return err
		}
		link := older.FindSubmatch(body)
		if link == nil {
			return fmt.Errorf("%s has no second page", p.Path)
		}
		list = append(list, product.Page{Name: p.Name, Path: html.UnescapeString(string(link[1]))})
	}
	var job, event string
	if err := s.Pool.QueryRow(ctx, `
select (select id::text from river.river_job where errors is not null and state = 'completed' order by id offset 3 limit 1), (select id::text from events where fanned_out_at is not null order by seq offset 3 limit 1)`).Scan(&job, &event); err != nil {
		return err
	}
	list = append(list, product.Page{Name: "Task", Path: "/admin/tasks/" + job}, product.Page{Name: "Event", Path: "/admin/events/" + event})
	events, err := s.Count(ctx, `select count(*) from events`)
	if err != nil {
		return err
	}
	finished, err := s.Count(ctx, `select count(*) from river.river_job where finalized_at is not null`)
	if err != nil {
		return err
	}
	section.Note = fmt.Sprintf("%s events and %s finished jobs; one request after another with the owner's session, over HTTP on this machine, to the last byte", report.Number(events), report.Number(finished))
	return product.Slowest(ctx, section, list, l.N(60), report.AtMost(100), product.Whole(s.AsOwner))
}
