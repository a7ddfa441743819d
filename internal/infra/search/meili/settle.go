package meili

import (
	"context"
	"fmt"
	"slices"

	"github.com/meilisearch/meilisearch-go"

	"github.com/gatehouse-hq/gatehouse/internal/infra/search"
)

// The settings that searches here rely on; all others are the operator's.
// A title weighs most. A note's place among the names comes before how close
// together the words stand, as in the PostgreSQL engine.
func searchable() []string { return []string{"title", "aliases", "tags", "body"} }
func filterable() []string { return []string{key, "published"} }
func ranking() []string {
	return []string{"words", "typo", "attribute", "proximity", "exactness", "updated_at:desc"}
}

// Check proves that the server, its index and the settings can be used.
func (e *Engine) Check(ctx context.Context) error {
	info, err := e.info(ctx)
	if isCode(err, meilisearch.APIErrCodeIndexNotFound) {
		return search.ErrNoIndex
	}
	if err != nil {
		return fmt.Errorf("look at the search index: %w", err)
	}
	if info.PrimaryKey != "" && info.PrimaryKey != key {
		return e.wrongKey(info.PrimaryKey)
	}
	differ, err := e.unsettled(ctx)
	if err == nil && differ != nil {
		err = fmt.Errorf("the settings of index %s at %s were changed; a running server puts them right within five minutes", e.uid, e.url)
	}
	return err
}

// Prepare brings index and settings in order. A wiped server has an empty index
// afterwards.
func (e *Engine) Prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.write)
	defer cancel()
	if err := e.settle(ctx, true); err != nil {
		return fmt.Errorf("prepare the search index: %w", err)
	}
	return nil
}

// settle makes the index if it is missing, checks its key, and compares the
// settings once for each index that this process has seen, or if always.
func (e *Engine) settle(ctx context.Context, always bool) error {
	info, err := e.info(ctx)
	if isCode(err, meilisearch.APIErrCodeIndexNotFound) {
		if err := e.create(ctx); err != nil {
			return err
		}
		info, err = e.info(ctx)
	}
	if err != nil {
		return err
	}
	if info.PrimaryKey == "" { // made by hand or by somebody's first write, and still without documents
		if err := e.state(ctx); err != nil {
			return err
		}
	} else if info.PrimaryKey != key {
		return e.wrongKey(info.PrimaryKey)
	}
	made := info.CreatedAt.UnixNano()
	if !always && e.settled.Load() == made {
		return nil
	}
	if err := e.settings(ctx); err != nil {
		return err
	}
	e.settled.Store(made)
	return nil
}

func (e *Engine) wrongKey(have string) error {
	return fmt.Errorf("the index %s of Meilisearch at %s has the primary key %q, but it must be %q: delete that index "+
		"(DELETE /indexes/%s) and rebuild search; nothing is lost, the notes are in the database", e.uid, e.url, have, key, e.uid)
}

func (e *Engine) info(ctx context.Context) (info *meilisearch.IndexResult, err error) {
	err = e.request(ctx, func(ctx context.Context) (err error) {
		info, err = e.index().FetchInfo(ctx)
		return err
	})
	return info, err
}

func (e *Engine) create(ctx context.Context) error {
	err := e.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		return e.server.CreateIndex(ctx, &meilisearch.IndexConfig{Uid: e.uid, PrimaryKey: key})
	})
	if isCode(err, meilisearch.APIErrCodeIndexAlreadyExists) {
		return nil // another worker was faster
	}
	if err != nil {
		return fmt.Errorf("make the index %s: %w", e.uid, err)
	}
	return nil
}

// state states the primary key of an index that has none.
func (e *Engine) state(ctx context.Context) error {
	err := e.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) {
		return e.index().UpdateIndex(ctx, &meilisearch.UpdateIndexRequestParams{PrimaryKey: key})
	})
	if err != nil {
		return fmt.Errorf("state the primary key of index %s: %w", e.uid, err)
	}
	return nil
}

// settings compares before it writes: changed settings make the server index
// everything again.
func (e *Engine) settings(ctx context.Context) error {
	want, err := e.unsettled(ctx)
	if err != nil || want == nil {
		return err
	}
	err = e.change(ctx, func(ctx context.Context) (*meilisearch.TaskInfo, error) { return e.index().UpdateSettings(ctx, want) })
	if err != nil {
		return fmt.Errorf("write the settings of index %s: %w", e.uid, err)
	}
	return nil
}

// unsettled is what must be written for the settings to be right: nil when they
// are.
func (e *Engine) unsettled(ctx context.Context) (*meilisearch.Settings, error) {
	var have *meilisearch.Settings
	err := e.request(ctx, func(ctx context.Context) (err error) {
		have, err = e.index().GetSettings(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the settings of index %s: %w", e.uid, err)
	}
	var want meilisearch.Settings
	if !slices.Equal(have.SearchableAttributes, searchable()) {
		want.SearchableAttributes = searchable()
	}
	if slices.Sort(have.FilterableAttributes); !slices.Equal(have.FilterableAttributes, filterable()) {
		want.FilterableAttributes = filterable()
	}
	if !slices.Equal(have.RankingRules, ranking()) {
		want.RankingRules = ranking()
	}
	if want.SearchableAttributes == nil && want.FilterableAttributes == nil && want.RankingRules == nil {
		return nil, nil
	}
	return &want, nil
}
