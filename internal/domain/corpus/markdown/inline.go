package markdown

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// maxWikiLink bounds [[…]], in bytes: file systems end at 255 bytes a name, and a bound keeps a page of [[[[ linear.
const maxWikiLink = 1 << 10

type wikiLinkParser struct{}

func (wikiLinkParser) Trigger() []byte { return []byte{'[', '!'} }

func (wikiLinkParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	start := 0
	if line[0] == '!' {
		start = 1
	}
	if !bytes.HasPrefix(line[start:], []byte("[[")) {
		return nil
	}
	inner := line[start+2 : min(len(line), start+2+maxWikiLink)]
	end := bytes.Index(inner, []byte("]]"))
	if end <= 0 {
		return nil
	}
	inner = inner[:end]
	if bytes.Contains(inner, []byte("[[")) {
		return nil
	}
	n := &wikiLink{inlineNode: inline(kindWikiLink), embed: start == 1, at: segment.Start}
	n.target, n.fragment, n.alias = splitWikiLink(string(inner))
	if n.target == "" && n.fragment == "" {
		return nil
	}
	block.Advance(start + 2 + end + 2)
	return n
}

// splitWikiLink reads target#fragment|alias. In a table the bar is written \|.
func splitWikiLink(inner string) (target, fragment, alias string) {
	target, alias, _ = strings.Cut(inner, "|")
	target = strings.TrimSuffix(target, `\`)
	target, fragment, _ = strings.Cut(target, "#")
	return strings.TrimSpace(target), strings.TrimSpace(fragment), strings.TrimSpace(alias)
}

type tagParser struct{}

func (tagParser) Trigger() []byte { return []byte{'#'} }

func (tagParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	if !unicode.IsSpace(before) && before != '(' && before != '（' && before != '*' && before != '_' && before != '=' {
		return nil
	}
	line, _ := block.PeekLine()
	name := tagName(line[1:])
	if name == "" {
		return nil
	}
	block.Advance(1 + len(name))
	return &tag{inlineNode: inline(kindTag), name: strings.TrimRight(name, "/")}
}

// tagName reads Obsidian's tag: letters, digits, _, -, / and signs such as emoji; not digits alone.
func tagName(line []byte) string {
	i, letters := 0, false
	for i < len(line) {
		r, size := utf8.DecodeRune(line[i:])
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r), r == '_', r == '-', unicode.Is(unicode.So, r), r == '\u200d':
			letters = true
		case unicode.IsDigit(r), r == '/':
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		i += size
	}
	if !letters || line[0] == '/' {
		return ""
	}
	return string(line[:i])
}

type mathParser struct{}

func (mathParser) Trigger() []byte { return []byte{'$'} }

func (mathParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	if bytes.HasPrefix(line, []byte("$$")) {
		end := bytes.Index(line[2:], []byte("$$"))
		if end <= 0 {
			block.Advance(2) // no formula: two plain signs, and not the start of a short one
			return ast.NewString([]byte("$$"))
		}
		n := &math{inlineNode: inline(kindMath), display: true, formula: bytes.Clone(line[2 : 2+end])}
		block.Advance(end + 4)
		return n
	}
	// Pandoc's rule, which Obsidian follows: no space inside the signs, no digit behind, so that "$5 and $6" are prices.
	end := bytes.IndexByte(line[1:], '$')
	if end <= 0 || isSpace(line[1]) || isSpace(line[end]) || line[end] == '\\' {
		return nil
	}
	if end+2 < len(line) && line[end+2] >= '0' && line[end+2] <= '9' {
		return nil
	}
	n := &math{inlineNode: inline(kindMath), formula: bytes.Clone(line[1 : 1+end])}
	block.Advance(end + 2)
	return n
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

var taskPattern = regexp.MustCompile(`^\[([^\]\n])\][ \t]+`)

// taskParser reads the box at the start of a list item. Any sign but a space means done, as in Obsidian.
type taskParser struct{}

func (taskParser) Trigger() []byte { return []byte{'['} }

func (taskParser) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	m := taskPattern.FindSubmatch(line)
	if m == nil {
		return nil
	}
	block.Advance(len(m[0]))
	return &task{inlineNode: inline(kindTask), done: m[1][0] != ' '}
}

// pairParser reads ==highlighted== and ~~struck~~: exactly two signs, touching their words. CommonMark's finer rules for punctuation are
// left out since they fail next to Chinese and Japanese punctuation.
type pairParser struct {
	char    byte
	element string
}

func (p pairParser) Trigger() []byte { return []byte{p.char} }

func (p pairParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	n := run(line, p.char)
	if n != 2 {
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	after := ' '
	if n < len(line) {
		after, _ = utf8.DecodeRune(line[n:])
	}
	d := parser.NewDelimiter(!unicode.IsSpace(after), !unicode.IsSpace(before), n, p.char, p)
	d.Segment = segment.WithStop(segment.Start + n)
	block.Advance(n)
	pc.PushDelimiter(d)
	return d
}

func (p pairParser) IsDelimiter(b byte) bool { return b == p.char }

func (p pairParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (p pairParser) OnMatch(int) ast.Node {
	return &span{inlineNode: inline(kindSpan), element: p.element}
}

// emphasisParser is CommonMark's * and _ with one amendment: next to Chinese, Japanese or Korean, which put no spaces between words, signs
// touching punctuation still open and close. By the letter of CommonMark, 打开**[[设置]]**。 shows its stars.
type emphasisParser struct{}

func (emphasisParser) Trigger() []byte { return []byte{'*', '_'} }

func (e emphasisParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, e)
	if d == nil {
		return nil
	}
	if after, _ := utf8.DecodeRune(line[d.OriginalLength:]); d.Char == '*' {
		d.CanOpen = d.CanOpen || isCJK(before) && !unicode.IsSpace(after) && after != utf8.RuneError
		d.CanClose = d.CanClose || isCJK(after) && !unicode.IsSpace(before)
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

func (emphasisParser) IsDelimiter(b byte) bool { return b == '*' || b == '_' }

func (emphasisParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (emphasisParser) OnMatch(consumes int) ast.Node { return ast.NewEmphasis(consumes) }

func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) ||
		(r >= 0x3000 && r <= 0x303f) || (r >= 0xff00 && r <= 0xffef)
}
