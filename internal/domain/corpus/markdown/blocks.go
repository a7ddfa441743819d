package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxNesting bounds quotes and lists inside each other; deeper markers are text. Browsers and our own walks recurse.
const maxNesting = 64

// shallow keeps a container parser from nesting without end.
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if depth++; depth > maxNesting {
			return nil, parser.NoChildren
		}
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// maxDestination bounds the address of a Markdown link, in bytes.
const maxDestination = 4 << 10

// boundedLinks is CommonMark's link parser for addresses of bounded length. Unbounded, it reads to the end of the line at each "](".
type boundedLinks struct{ parser.InlineParser }

func (b boundedLinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if bytes.HasPrefix(line, []byte("](")) && endless(line[2:]) {
		return nil
	}
	return b.InlineParser.Parse(parent, block, pc)
}

// CloseBlock passes the end of a block on, where the link parser gives up its open brackets.
func (b boundedLinks) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// endless tells whether a link's destination neither ends nor fails within the bound, or nests more than CommonMark's 32 parentheses.
func endless(rest []byte) bool {
	depth := 0
	for i := range min(len(rest), maxDestination) {
		switch rest[i] {
		case '(':
			if depth++; depth > 32 {
				return true
			}
		case ')':
			if depth--; depth < 0 {
				return false
			}
		case ' ', '\t', '\n', '>':
			return false
		}
	}
	return len(rest) > maxDestination
}

// inlineParsers are CommonMark's with bounded links and with emphasis amended, and Obsidian's additions.
func inlineParsers() []util.PrioritizedValue {
	parsers := parser.DefaultInlineParsers()
	links, emphasis := string(parser.NewLinkParser().Trigger()), string(parser.NewEmphasisParser().Trigger())
	for i, p := range parsers {
		switch b := p.Value.(parser.InlineParser); string(b.Trigger()) {
		case links:
			parsers[i].Value = boundedLinks{b}
		case emphasis:
			parsers[i].Value = emphasisParser{}
		}
	}
	return append(parsers,
		util.Prioritized(wikiLinkParser{}, 90),
		util.Prioritized(taskParser{}, 95),
		util.Prioritized(tagParser{}, 110),
		util.Prioritized(mathParser{}, 120),
		util.Prioritized(pairParser{'=', "mark"}, 490),
		util.Prioritized(pairParser{'~', "del"}, 490),
	)
}

// blockParsers are CommonMark's with bounded nesting, and maths.
func blockParsers() []util.PrioritizedValue {
	parsers := parser.DefaultBlockParsers()
	for i, p := range parsers {
		switch b := p.Value.(parser.BlockParser); string(b.Trigger()) {
		case string(parser.NewBlockquoteParser().Trigger()), string(parser.NewListParser().Trigger()):
			parsers[i].Value = shallow{b}
		}
	}
	return append(parsers, util.Prioritized(mathBlockParser{}, 650))
}

// mathBlockParser reads $$ … $$ where the first $$ begins a line and the closing one stands on a later line.
type mathBlockParser struct{}

func (mathBlockParser) Trigger() []byte             { return []byte{'$'} }
func (mathBlockParser) CanInterruptParagraph() bool { return true }
func (mathBlockParser) CanAcceptIndentedLine() bool { return false }

func (mathBlockParser) Close(ast.Node, text.Reader, parser.Context) {}

func (mathBlockParser) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 || !bytes.HasPrefix(line[at:], []byte("$$")) || bytes.Contains(line[at+2:], []byte("$$")) {
		return nil, parser.NoChildren
	}
	// A $$ that nothing closes is two dollar signs, not a formula to the end of the note.
	if !bytes.Contains(reader.Source()[segment.Stop:], []byte("$$")) {
		return nil, parser.NoChildren
	}
	n := &mathBlock{block(kindMathBlock)}
	if rest := segment.WithStart(segment.Start + at + 2 - segment.Padding); len(bytes.TrimSpace(line[at+2:])) > 0 {
		n.Lines().Append(rest)
	}
	reader.AdvanceToEOL()
	return n, parser.NoChildren
}

func (mathBlockParser) Continue(node ast.Node, reader text.Reader, _ parser.Context) parser.State {
	line, segment := reader.PeekLine()
	if end := bytes.Index(line, []byte("$$")); end >= 0 {
		if len(bytes.TrimSpace(line[:end])) > 0 {
			node.Lines().Append(segment.WithStop(segment.Start + max(end-segment.Padding, 0)))
		}
		reader.Advance(end + 2)
		return parser.Close
	}
	node.Lines().Append(segment)
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}
