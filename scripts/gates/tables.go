package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	createTable = regexp.MustCompile(`(?im)^\s*create\s+table\s+(?:if\s+not\s+exists\s+)?(?:public\.)?"?(\w+)"?`)
	policyLine  = regexp.MustCompile(`(?m)^\s*--\s*events:\s*(.*)$`)
	policyText  = regexp.MustCompile(`^(emit\b.*|none\s*\(.+\)\s*)$`)
)

// changes are the ways a row can change; a table that emits needs a trigger for each, and one that refuses TRUNCATE.
var changes = []string{"insert", "update", "delete", "truncate"}

// checkTablePolicy asks of each table whether changes of its rows are events, and holds it to the answer.
func checkTablePolicy(c *checkout) (int, []finding, error) {
	schema, err := c.read("schema.sql")
	if err != nil {
		return 0, nil, err
	}
	tables := createTable.FindAllStringSubmatchIndex(schema, -1)
	var found []finding
	for i, at := range tables {
		name := schema[at[2]:at[3]]
		where := fmt.Sprintf("schema.sql:%d", 1+strings.Count(schema[:at[2]], "\n"))
		from, to := above(schema, at[0]), len(schema)
		if i+1 < len(tables) {
			to = above(schema, tables[i+1][0])
		}
		policy := policyLine.FindStringSubmatch(schema[from:to])
		switch {
		case policy == nil:
			found = append(found, finding{where, fmt.Sprintf("table %s says neither `-- events: emit` nor `-- events: none (why)`", name)})
		case !policyText.MatchString(policy[1]):
			found = append(found, finding{where, fmt.Sprintf("table %s: `-- events: %s` is neither `emit` nor `none (why)`", name, policy[1])})
		case strings.HasPrefix(policy[1], "emit"):
			for _, change := range missingTriggers(schema, name) {
				found = append(found, finding{where, fmt.Sprintf("table %s emits, but no trigger watches %s", name, change)})
			}
		}
	}
	return len(tables), found, nil
}

// above returns where the comment block directly above a statement begins.
func above(text string, at int) int {
	for at > 0 {
		line := strings.LastIndex(text[:at-1], "\n") + 1
		if !strings.HasPrefix(strings.TrimSpace(text[line:at]), "--") {
			return at
		}
		at = line
	}
	return at
}

func missingTriggers(schema, table string) []string {
	trigger := regexp.MustCompile(`(?is)create\s+(?:or\s+replace\s+)?(?:constraint\s+)?trigger\s+\w+\s+(?:after|before)\s+(.*?)\s+on\s+(?:public\.)?` + table + `\b`)
	watched := ""
	for _, match := range trigger.FindAllStringSubmatch(schema, -1) {
		watched += " " + strings.ToLower(match[1])
	}
	var missing []string
	for _, change := range changes {
		if !strings.Contains(watched, change) {
			missing = append(missing, change)
		}
	}
	return missing
}
