package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a bill of materials in CycloneDX 1.6 (JSON), as far as it is used here.
type bill struct {
	Format     string     `json:"bomFormat"`
	Spec       string     `json:"specVersion"`
	Serial     string     `json:"serialNumber"`
	Version    int        `json:"version"`
	Metadata   metadata   `json:"metadata"`
	Components []material `json:"components"`
}

type metadata struct {
	Timestamp string   `json:"timestamp"`
	Component material `json:"component"`
}

type material struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// licenses names, with their versions, what is served to browsers from inside the binary and was written elsewhere.
const licenses = "internal/web/assets/files/licenses.txt"

var licensed = regexp.MustCompile(`(?m)^([A-Za-z][\w-]*) ([0-9]+\.[0-9]+\.[0-9]+)\b`)

// npm is what they are called in the registry of their makers.
var npm = map[string]string{"htmx": "htmx.org", "Lucide": "lucide-static"}

// billOf lists what the linker really took, by the binary's own account: go.mod also names what only tests and tools use.
func billOf(binary, version string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built from: %w", binary, err)
	}
	digest, err := sum(binary)
	if err != nil {
		return nil, err
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Serial: serial(digest), Metadata: metadata{at.Format(time.RFC3339), material{
		Type: "application", Ref: "gatehouse", Name: "gatehouse", Version: version, PURL: "pkg:golang/" + info.Main.Path + "@" + version,
		Hashes: []hash{{"SHA-256", digest}},
	}}}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, material{Type: "library", Ref: "std", Name: "std", Version: goVersion, PURL: "pkg:golang/std@" + goVersion})
	for _, m := range info.Deps {
		b.Components = append(b.Components, materialOf(m))
	}
	list, err := os.ReadFile(licenses)
	if err != nil {
		return nil, err
	}
	for _, found := range licensed.FindAllStringSubmatch(string(list), -1) {
		name, ok := npm[found[1]]
		if !ok {
			return nil, fmt.Errorf("%s names %s, of which the release does not know whose it is", licenses, found[1])
		}
		b.Components = append(b.Components, material{Type: "library", Ref: name, Name: name, Version: found[2], PURL: "pkg:npm/" + name + "@" + found[2]})
	}
	slices.SortFunc(b.Components, func(a, b material) int { return strings.Compare(a.Ref, b.Ref) })
	raw, err := json.MarshalIndent(b, "", "  ")
	return append(raw, '\n'), err
}

func materialOf(m *debug.Module) material {
	if m.Replace != nil {
		m = m.Replace
	}
	return material{Type: "library", Ref: m.Path, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version,
		Properties: []property{{"go.sum", m.Sum}}}
}

// serial is a UUID that the same binary always gets: version 8 of RFC 9562, whose content is the maker's own.
func serial(of string) string {
	d := sha256.Sum256([]byte(of))
	d[6], d[8] = d[6]&0x0f|0x80, d[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", d[0:4], d[4:6], d[6:8], d[8:10], d[10:16])
}
