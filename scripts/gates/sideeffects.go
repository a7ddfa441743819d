package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// outward are the packages that touch the outside world on behalf of a domain.
var outward = []string{"internal/infra/sideeffect", "internal/infra/events/webhook", "internal/infra/lease"}

// outwardLibraries would reach the outside world without passing infra at all.
var outwardLibraries = []string{"net/smtp", "github.com/wneessen/go-mail", "github.com/emersion/go-webdav", "github.com/meilisearch/meilisearch-go"}

// checkSideEffects keeps every effect on the outside world behind a committed event: only subscribers, which run as
// jobs, reach the packages that send; domain and web open no connection of their own.
func checkSideEffects(c *checkout) (int, []finding, error) {
	packages, err := c.list("./...")
	if err != nil {
		return 0, nil, err
	}
	var found []finding
	for _, p := range packages {
		if !within(p.dir(), []string{"internal/domain", "internal/web"}) {
			continue
		}
		for _, path := range p.Imports {
			if within(inModule(path), outward) && !isSubscriber(p.dir()) {
				found = append(found, finding{p.dir(), fmt.Sprintf("imports %s: only a domain's subscriber may", inModule(path))})
			}
			for _, library := range outwardLibraries {
				if path == library || strings.HasPrefix(path, library+"/") {
					found = append(found, finding{p.dir(), fmt.Sprintf("imports %s: effects go through infra", path)})
				}
			}
		}
	}
	direct, err := directConnections(c)
	return len(packages), append(found, direct...), err
}

// directConnections finds HTTP clients and dialled sockets in domain and web.
func directConnections(c *checkout) ([]finding, error) {
	files, err := c.goFiles("internal/domain", "internal/web")
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, f := range files {
		if f.test || f.generated {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if ok && opensConnection(f, e) {
				found = append(found, finding{f.at(e.Pos()), "opens a connection: record an event and let a subscriber act through infra"})
			}
			return true
		})
	}
	return found, nil
}

func opensConnection(f goFile, e ast.Expr) bool {
	return f.selects(e, "net/http", "Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "NewRequest", "NewRequestWithContext") ||
		f.selects(e, "net", "Dial", "DialTimeout", "DialTCP", "DialUDP", "DialUnix", "Dialer") ||
		f.selects(e, "crypto/tls", "Dial", "DialWithDialer", "Dialer")
}
