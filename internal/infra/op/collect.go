package op

import (
	"fmt"
	"sort"
)

// Set is the collected list of operations.
type Set struct {
	byName map[string]Op
	names  []string
}

// Collect refuses duplicates and incomplete declarations.
func Collect(ops ...Op) (*Set, error) {
	s := &Set{byName: map[string]Op{}}
	for _, o := range ops {
		if o.Name == "" || o.Title == "" || o.Description == "" || o.Class == "" || o.run == nil {
			return nil, fmt.Errorf("operation %q is not fully declared", o.Name)
		}
		if _, dup := s.byName[o.Name]; dup {
			return nil, fmt.Errorf("operation %q is declared twice", o.Name)
		}
		s.byName[o.Name] = o
		s.names = append(s.names, o.Name)
	}
	sort.Strings(s.names)
	return s, nil
}

// Get returns the operation of that name.
func (s *Set) Get(name string) (Op, bool) { o, ok := s.byName[name]; return o, ok }

// All returns the operations by name.
func (s *Set) All() []Op {
	out := make([]Op, 0, len(s.names))
	for _, n := range s.names {
		out = append(out, s.byName[n])
	}
	return out
}
