-- The schema of Gatehouse. Applied to an empty database; migrations bring an older one here.
-- Every table says whether its rows emit events. Times that order things are clock_timestamp().
-- Trigger functions set their search_path and qualify names: pg_dump restores with an empty one.

-- Its body is parsed here, once, so no search_path can change its meaning, and it is inlined. With a SET clause instead
-- it would be planned anew in each statement, which cost 50 writers half of their commits.
create function public.uuid_v7() returns uuid
language sql volatile parallel safe
-- RFC 9562: 48 bits of unix milliseconds, version 7, 12 bits of the millisecond's fraction (method 3), variant 2, the
-- rest random. PostgreSQL has it from 18 on.
return (overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
  || substr(gen_random_uuid()::text, 20))::uuid;

-- events: none (bookkeeping of the migrator)
create table public.schema_stamp (
  one        boolean primary key default true check (one),
  version    integer not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- events: none (one row; its facts are recorded by use cases)
create table public.owners (
  id            uuid primary key default public.uuid_v7(),
  email         text,
  name          text not null default '',
  password_hash text,
  zone          text not null default 'UTC',
  site_title    text not null default 'Gatehouse',
  site_tagline  text not null default '',
  single_keys   boolean not null default true,
  created_at    timestamptz not null default clock_timestamp(),
  set_up_at     timestamptz
);
insert into public.owners default values;

-- events: none (sign-in is recorded as owner.login)
create table public.sessions (
  token_hash bytea primary key,
  owner_id   uuid not null references public.owners (id) on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  address    text not null default '',
  user_agent text not null default ''
);
create index sessions_expires on public.sessions (expires_at);

-- events: none (a one-time link; only its hash is kept)
create table public.setup_tokens (
  token_hash bytea primary key,
  reset      boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);

-- events: none (counters of failed sign-ins, pruned hourly)
create table public.login_failures (
  address text not null,
  at      timestamptz not null default clock_timestamp()
);
create index login_failures_address on public.login_failures (address, at);

-- events: none (bearer tokens of the owner's AI and scripts; only hashes are kept)
create table public.tokens (
  id         uuid primary key default public.uuid_v7(),
  owner_id   uuid not null references public.owners (id) on delete cascade,
  name       text not null,
  token_hash bytea not null unique,
  classes    text[] not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  used_at    timestamptz,
  revoked_at timestamptz
);

-- events: none (what was shown and not yet confirmed; each works once and for ten minutes)
create table public.plans (
  id         text primary key,
  caller     text not null,
  operation  text not null,
  asked      text not null,
  frozen     text not null,
  expires_at timestamptz not null
);
create index plans_caller on public.plans (caller, expires_at);

-- events: none (it is the outbox)
-- txid: the transaction that made the row due, its birth or its last requeue. Rows are claimed in this order, because
-- a transaction not visible to an earlier look cannot have an id below that look's pg_snapshot_xmin: the relay starts
-- there instead of wading through the dead entries that a forgotten snapshot keeps (field case F05).
create table public.events (
  id            uuid primary key default public.uuid_v7(),
  seq           bigint generated always as identity,
  owner_id      uuid not null,
  type          text not null,
  subject       text not null,
  data          jsonb not null default '{}',
  cause         jsonb default nullif(current_setting('gatehouse.cause', true), '')::jsonb,
  txid          xid8 not null default pg_current_xact_id(),
  occurred_at   timestamptz not null default clock_timestamp(),
  fanned_out_at timestamptz,
  fanout        jsonb,
  attempts      integer not null default 0,
  retry_at      timestamptz,
  last_error    text,
  poisoned_at   timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02, fillfactor = 80);
-- Writers pay for two indexes only: the rest begin with the fan-out. A subject can be longer than an index entry may be
-- (2,704 bytes), and the save must not fail for that.
create index events_waiting on public.events (txid, seq) where fanned_out_at is null and poisoned_at is null;
create index events_poisoned on public.events (seq) where poisoned_at is not null;
create index events_fanned_out_at on public.events (fanned_out_at) where fanned_out_at is not null;
create index events_seq on public.events (seq) where fanned_out_at is not null;
create index events_txid on public.events (txid) where fanned_out_at is not null;
create index events_type on public.events (type, seq) where fanned_out_at is not null;
create index events_subject on public.events (left(subject, 200), seq) where fanned_out_at is not null;

-- events: none (which subscription lists have run; the newest live one relays)
create table public.registries (
  version    bigint generated always as identity primary key,
  hash       text not null unique,
  created_at timestamptz not null default clock_timestamp()
);

-- events: none (heartbeats)
create table public.processes (
  id         uuid primary key,
  role       text not null,
  version    text not null,
  registry   bigint not null default 0,
  queues     jsonb not null default '{}',
  lock_key   bigint not null,
  skew_ms    bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  beat_at    timestamptz not null default clock_timestamp(),
  stopped_at timestamptz
);

-- events: none (schedules; River keeps its own in memory only)
create table public.periodic_runs (
  name       text primary key,
  paused     boolean not null default false,
  last_run   timestamptz,
  next_run   timestamptz not null default clock_timestamp(),
  running    bigint,
  history    jsonb not null default '[]',
  updated_at timestamptz not null default clock_timestamp()
);

-- The address rule: one step of an address, made from a title. Its twin is corpus.Segment in Go; TestSegmentRule holds the
-- two together and writes this text when they part. Unicode 15's tables are written out (simple lower case; letters, numbers
-- and marks), because PostgreSQL's own depend on the database's collation and on the operating system's version of it.
create function public.note_segment(title text) returns text
language plpgsql immutable strict parallel safe
set search_path = ''
as $$
declare
  selectors constant text := '\u00ad\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef';
  upper constant text := 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬ'
    'ƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫϏϘϚ'
    'ϜϞϠϢϤϦϨϪϬϮϴϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔ'
    'ӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄ'
    'ჅჇჍᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯᏰᏱᏲᏳᏴᏵᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮ'
    'ᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘ'
    'ỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺᾼῈῊῌῘῙῚῨῩῪῬῸῺῼℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪ'
    'ⅫⅬⅭⅮⅯↃⒶⒷⒸⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰ'
    'ⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞ'
    'ꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆'
    '𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴'
    '𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡';
  lower constant text := 'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭ'
    'ʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋϗϙϛ'
    'ϝϟϡϣϥϧϩϫϭϯθϸϲϻͻͼͽѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕ'
    'ӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤ'
    'ⴥⴧⴭꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხ'
    'ჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộ'
    'ớờởỡợụủứừửữựỳỵỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰᾳὲὴῃῐῑὶῠῡὺῥὸὼῳⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺ'
    'ⅻⅼⅽⅾⅿↄⓐⓑⓒⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱ'
    'ⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟ'
    'ꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮'
    '𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔'
    '𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃';
  marks constant text := '\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc'
    '\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825'
    '-\u0827\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962-\u0963'
    '\u0981-\u0983\u09bc\u09be-\u09c4\u09c7-\u09c8\u09cb-\u09cd\u09d7\u09e2-\u09e3\u09fe\u0a01-\u0a03\u0a3c\u0a3e-\u0a42\u0a47'
    '-\u0a48\u0a4b-\u0a4d\u0a51\u0a70-\u0a71\u0a75\u0a81-\u0a83\u0abc\u0abe-\u0ac5\u0ac7-\u0ac9\u0acb-\u0acd\u0ae2-\u0ae3\u0afa'
    '-\u0aff\u0b01-\u0b03\u0b3c\u0b3e-\u0b44\u0b47-\u0b48\u0b4b-\u0b4d\u0b55-\u0b57\u0b62-\u0b63\u0b82\u0bbe-\u0bc2\u0bc6-\u0bc8'
    '\u0bca-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c\u0c3e-\u0c44\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c62-\u0c63\u0c81-\u0c83\u0cbc'
    '\u0cbe-\u0cc4\u0cc6-\u0cc8\u0cca-\u0ccd\u0cd5-\u0cd6\u0ce2-\u0ce3\u0cf3\u0d00-\u0d03\u0d3b-\u0d3c\u0d3e-\u0d44\u0d46-\u0d48'
    '\u0d4a-\u0d4d\u0d57\u0d62-\u0d63\u0d81-\u0d83\u0dca\u0dcf-\u0dd4\u0dd6\u0dd8-\u0ddf\u0df2-\u0df3\u0e31\u0e34-\u0e3a\u0e47'
    '-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f3f\u0f71-\u0f84\u0f86-\u0f87\u0f8d-\u0f97'
    '\u0f99-\u0fbc\u0fc6\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a'
    '-\u109d\u135d-\u135f\u1712-\u1715\u1732-\u1734\u1752-\u1753\u1772-\u1773\u17b4-\u17d3\u17dd\u1885-\u1886\u18a9\u1920-\u192b'
    '\u1930-\u193b\u1a17-\u1a1b\u1a55-\u1a5e\u1a60-\u1a7c\u1a7f\u1ab0-\u1abd\u1abf-\u1ace\u1b00-\u1b04\u1b34-\u1b44\u1b6b-\u1b73'
    '\u1b80-\u1b82\u1ba1-\u1bad\u1be6-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1ce8\u1ced\u1cf4\u1cf7-\u1cf9\u1dc0-\u1dff\u20d0'
    '-\u20dc\u20e1\u20e5-\u20f0\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302f\u3099-\u309a\ua66f\ua674-\ua67d\ua69e-\ua69f\ua6f0'
    '-\ua6f1\ua802\ua806\ua80b\ua823-\ua827\ua82c\ua880-\ua881\ua8b4-\ua8c5\ua8e0-\ua8f1\ua8ff\ua926-\ua92d\ua947-\ua953\ua980'
    '-\ua983\ua9b3-\ua9c0\ua9e5\uaa29-\uaa36\uaa43\uaa4c-\uaa4d\uaa7b-\uaa7d\uaab0\uaab2-\uaab4\uaab7-\uaab8\uaabe-\uaabf\uaac1'
    '\uaaeb-\uaaef\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed\ufb1e\ufe20-\ufe2f\U000101fd\U000102e0\U00010376-\U0001037a\U00010a01'
    '-\U00010a03\U00010a05-\U00010a06\U00010a0c-\U00010a0f\U00010a38-\U00010a3a\U00010a3f\U00010ae5-\U00010ae6\U00010d24-\U00010d27'
    '\U00010eab-\U00010eac\U00010efd-\U00010eff\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011000-\U00011002\U00011038-\U00011046'
    '\U00011070\U00011073-\U00011074\U0001107f-\U00011082\U000110b0-\U000110ba\U000110c2\U00011100-\U00011102\U00011127-\U00011134'
    '\U00011145-\U00011146\U00011173\U00011180-\U00011182\U000111b3-\U000111c0\U000111c9-\U000111cc\U000111ce-\U000111cf\U0001122c'
    '-\U00011237\U0001123e\U00011241\U000112df-\U000112ea\U00011300-\U00011303\U0001133b-\U0001133c\U0001133e-\U00011344\U00011347'
    '-\U00011348\U0001134b-\U0001134d\U00011357\U00011362-\U00011363\U00011366-\U0001136c\U00011370-\U00011374\U00011435-\U00011446'
    '\U0001145e\U000114b0-\U000114c3\U000115af-\U000115b5\U000115b8-\U000115c0\U000115dc-\U000115dd\U00011630-\U00011640\U000116ab'
    '-\U000116b7\U0001171d-\U0001172b\U0001182c-\U0001183a\U00011930-\U00011935\U00011937-\U00011938\U0001193b-\U0001193e\U00011940'
    '\U00011942-\U00011943\U000119d1-\U000119d7\U000119da-\U000119e0\U000119e4\U00011a01-\U00011a0a\U00011a33-\U00011a39\U00011a3b'
    '-\U00011a3e\U00011a47\U00011a51-\U00011a5b\U00011a8a-\U00011a99\U00011c2f-\U00011c36\U00011c38-\U00011c3f\U00011c92-\U00011ca7'
    '\U00011ca9-\U00011cb6\U00011d31-\U00011d36\U00011d3a\U00011d3c-\U00011d3d\U00011d3f-\U00011d45\U00011d47\U00011d8a-\U00011d8e'
    '\U00011d90-\U00011d91\U00011d93-\U00011d97\U00011ef3-\U00011ef6\U00011f00-\U00011f01\U00011f03\U00011f34-\U00011f3a\U00011f3e'
    '-\U00011f42\U00013440\U00013447-\U00013455\U00016af0-\U00016af4\U00016b30-\U00016b36\U00016f4f\U00016f51-\U00016f87\U00016f8f'
    '-\U00016f92\U00016fe4\U00016ff0-\U00016ff1\U0001bc9d-\U0001bc9e\U0001cf00-\U0001cf2d\U0001cf30-\U0001cf46\U0001d165-\U0001d169'
    '\U0001d16d-\U0001d172\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242-\U0001d244\U0001da00-\U0001da36'
    '\U0001da3b-\U0001da6c\U0001da75\U0001da84\U0001da9b-\U0001da9f\U0001daa1-\U0001daaf\U0001e000-\U0001e006\U0001e008-\U0001e018'
    '\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a\U0001e08f\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef'
    '\U0001e4ec-\U0001e4ef\U0001e8d0-\U0001e8d6\U0001e944-\U0001e94a';
  words constant text := '\u0030-\u0039\u0041-\u005a\u0061-\u007a\u00aa\u00b2-\u00b3\u00b5\u00b9-\u00ba\u00bc-\u00be\u00c0-\u00d6\u00d8-\u00f6\u00f8'
    '-\u02c1\u02c6-\u02d1\u02e0-\u02e4\u02ec\u02ee\u0300-\u0374\u0376-\u0377\u037a-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e'
    '-\u03a1\u03a3-\u03f5\u03f7-\u0481\u0483-\u0487\u048a-\u052f\u0531-\u0556\u0559\u0560-\u0588\u0591-\u05bd\u05bf\u05c1-\u05c2'
    '\u05c4-\u05c5\u05c7\u05d0-\u05ea\u05ef-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06fc'
    '\u06ff\u0710-\u074a\u074d-\u07b1\u07c0-\u07f5\u07fa\u07fd\u0800-\u082d\u0840-\u085b\u0860-\u086a\u0870-\u0887\u0889-\u088e'
    '\u0898-\u08e1\u08e3-\u0963\u0966-\u096f\u0971-\u0983\u0985-\u098c\u098f-\u0990\u0993-\u09a8\u09aa-\u09b0\u09b2\u09b6-\u09b9'
    '\u09bc-\u09c4\u09c7-\u09c8\u09cb-\u09ce\u09d7\u09dc-\u09dd\u09df-\u09e3\u09e6-\u09f1\u09f4-\u09f9\u09fc\u09fe\u0a01-\u0a03'
    '\u0a05-\u0a0a\u0a0f-\u0a10\u0a13-\u0a28\u0a2a-\u0a30\u0a32-\u0a33\u0a35-\u0a36\u0a38-\u0a39\u0a3c\u0a3e-\u0a42\u0a47-\u0a48'
    '\u0a4b-\u0a4d\u0a51\u0a59-\u0a5c\u0a5e\u0a66-\u0a75\u0a81-\u0a83\u0a85-\u0a8d\u0a8f-\u0a91\u0a93-\u0aa8\u0aaa-\u0ab0\u0ab2'
    '-\u0ab3\u0ab5-\u0ab9\u0abc-\u0ac5\u0ac7-\u0ac9\u0acb-\u0acd\u0ad0\u0ae0-\u0ae3\u0ae6-\u0aef\u0af9-\u0aff\u0b01-\u0b03\u0b05'
    '-\u0b0c\u0b0f-\u0b10\u0b13-\u0b28\u0b2a-\u0b30\u0b32-\u0b33\u0b35-\u0b39\u0b3c-\u0b44\u0b47-\u0b48\u0b4b-\u0b4d\u0b55-\u0b57'
    '\u0b5c-\u0b5d\u0b5f-\u0b63\u0b66-\u0b6f\u0b71-\u0b77\u0b82-\u0b83\u0b85-\u0b8a\u0b8e-\u0b90\u0b92-\u0b95\u0b99-\u0b9a\u0b9c'
    '\u0b9e-\u0b9f\u0ba3-\u0ba4\u0ba8-\u0baa\u0bae-\u0bb9\u0bbe-\u0bc2\u0bc6-\u0bc8\u0bca-\u0bcd\u0bd0\u0bd7\u0be6-\u0bf2\u0c00'
    '-\u0c0c\u0c0e-\u0c10\u0c12-\u0c28\u0c2a-\u0c39\u0c3c-\u0c44\u0c46-\u0c48\u0c4a-\u0c4d\u0c55-\u0c56\u0c58-\u0c5a\u0c5d\u0c60'
    '-\u0c63\u0c66-\u0c6f\u0c78-\u0c7e\u0c80-\u0c83\u0c85-\u0c8c\u0c8e-\u0c90\u0c92-\u0ca8\u0caa-\u0cb3\u0cb5-\u0cb9\u0cbc-\u0cc4'
    '\u0cc6-\u0cc8\u0cca-\u0ccd\u0cd5-\u0cd6\u0cdd-\u0cde\u0ce0-\u0ce3\u0ce6-\u0cef\u0cf1-\u0cf3\u0d00-\u0d0c\u0d0e-\u0d10\u0d12'
    '-\u0d44\u0d46-\u0d48\u0d4a-\u0d4e\u0d54-\u0d63\u0d66-\u0d78\u0d7a-\u0d7f\u0d81-\u0d83\u0d85-\u0d96\u0d9a-\u0db1\u0db3-\u0dbb'
    '\u0dbd\u0dc0-\u0dc6\u0dca\u0dcf-\u0dd4\u0dd6\u0dd8-\u0ddf\u0de6-\u0def\u0df2-\u0df3\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59'
    '\u0e81-\u0e82\u0e84\u0e86-\u0e8a\u0e8c-\u0ea3\u0ea5\u0ea7-\u0ebd\u0ec0-\u0ec4\u0ec6\u0ec8-\u0ece\u0ed0-\u0ed9\u0edc-\u0edf'
    '\u0f00\u0f18-\u0f19\u0f20-\u0f33\u0f35\u0f37\u0f39\u0f3e-\u0f47\u0f49-\u0f6c\u0f71-\u0f84\u0f86-\u0f97\u0f99-\u0fbc\u0fc6'
    '\u1000-\u1049\u1050-\u109d\u10a0-\u10c5\u10c7\u10cd\u10d0-\u10fa\u10fc-\u1248\u124a-\u124d\u1250-\u1256\u1258\u125a-\u125d'
    '\u1260-\u1288\u128a-\u128d\u1290-\u12b0\u12b2-\u12b5\u12b8-\u12be\u12c0\u12c2-\u12c5\u12c8-\u12d6\u12d8-\u1310\u1312-\u1315'
    '\u1318-\u135a\u135d-\u135f\u1369-\u137c\u1380-\u138f\u13a0-\u13f5\u13f8-\u13fd\u1401-\u166c\u166f-\u167f\u1681-\u169a\u16a0'
    '-\u16ea\u16ee-\u16f8\u1700-\u1715\u171f-\u1734\u1740-\u1753\u1760-\u176c\u176e-\u1770\u1772-\u1773\u1780-\u17d3\u17d7\u17dc'
    '-\u17dd\u17e0-\u17e9\u17f0-\u17f9\u1810-\u1819\u1820-\u1878\u1880-\u18aa\u18b0-\u18f5\u1900-\u191e\u1920-\u192b\u1930-\u193b'
    '\u1946-\u196d\u1970-\u1974\u1980-\u19ab\u19b0-\u19c9\u19d0-\u19da\u1a00-\u1a1b\u1a20-\u1a5e\u1a60-\u1a7c\u1a7f-\u1a89\u1a90'
    '-\u1a99\u1aa7\u1ab0-\u1abd\u1abf-\u1ace\u1b00-\u1b4c\u1b50-\u1b59\u1b6b-\u1b73\u1b80-\u1bf3\u1c00-\u1c37\u1c40-\u1c49\u1c4d'
    '-\u1c7d\u1c80-\u1c88\u1c90-\u1cba\u1cbd-\u1cbf\u1cd0-\u1cd2\u1cd4-\u1cfa\u1d00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d'
    '\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6'
    '-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2070-\u2071\u2074-\u2079\u207f-\u2089\u2090-\u209c\u20d0-\u20dc\u20e1\u20e5'
    '-\u20f0\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2139\u213c-\u213f\u2145-\u2149'
    '\u214e\u2150-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u2c00-\u2ce4\u2ceb-\u2cf3\u2cfd\u2d00-\u2d25\u2d27\u2d2d\u2d30'
    '-\u2d67\u2d6f\u2d7f-\u2d96\u2da0-\u2da6\u2da8-\u2dae\u2db0-\u2db6\u2db8-\u2dbe\u2dc0-\u2dc6\u2dc8-\u2dce\u2dd0-\u2dd6\u2dd8'
    '-\u2dde\u2de0-\u2dff\u2e2f\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1'
    '-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u3192-\u3195\u31a0-\u31bf\u31f0-\u31ff\u3220-\u3229\u3248-\u324f\u3251-\u325f'
    '\u3280-\u3289\u32b1-\u32bf\u3400-\u4dbf\u4e00-\ua48c\ua4d0-\ua4fd\ua500-\ua60c\ua610-\ua62b\ua640-\ua66f\ua674-\ua67d\ua67f'
    '-\ua6f1\ua717-\ua71f\ua722-\ua788\ua78b-\ua7ca\ua7d0-\ua7d1\ua7d3\ua7d5-\ua7d9\ua7f2-\ua827\ua82c\ua830-\ua835\ua840-\ua873'
    '\ua880-\ua8c5\ua8d0-\ua8d9\ua8e0-\ua8f7\ua8fb\ua8fd-\ua92d\ua930-\ua953\ua960-\ua97c\ua980-\ua9c0\ua9cf-\ua9d9\ua9e0-\ua9fe'
    '\uaa00-\uaa36\uaa40-\uaa4d\uaa50-\uaa59\uaa60-\uaa76\uaa7a-\uaac2\uaadb-\uaadd\uaae0-\uaaef\uaaf2-\uaaf6\uab01-\uab06\uab09'
    '-\uab0e\uab11-\uab16\uab20-\uab26\uab28-\uab2e\uab30-\uab5a\uab5c-\uab69\uab70-\uabea\uabec-\uabed\uabf0-\uabf9\uac00-\ud7a3'
    '\ud7b0-\ud7c6\ud7cb-\ud7fb\uf900-\ufa6d\ufa70-\ufad9\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb28\ufb2a-\ufb36\ufb38-\ufb3c\ufb3e'
    '\ufb40-\ufb41\ufb43-\ufb44\ufb46-\ufbb1\ufbd3-\ufd3d\ufd50-\ufd8f\ufd92-\ufdc7\ufdf0-\ufdfb\ufe20-\ufe2f\ufe70-\ufe74\ufe76'
    '-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffbe\uffc2-\uffc7\uffca-\uffcf\uffd2-\uffd7\uffda-\uffdc\U00010000'
    '-\U0001000b\U0001000d-\U00010026\U00010028-\U0001003a\U0001003c-\U0001003d\U0001003f-\U0001004d\U00010050-\U0001005d\U00010080'
    '-\U000100fa\U00010107-\U00010133\U00010140-\U00010178\U0001018a-\U0001018b\U000101fd\U00010280-\U0001029c\U000102a0-\U000102d0'
    '\U000102e0-\U000102fb\U00010300-\U00010323\U0001032d-\U0001034a\U00010350-\U0001037a\U00010380-\U0001039d\U000103a0-\U000103c3'
    '\U000103c8-\U000103cf\U000103d1-\U000103d5\U00010400-\U0001049d\U000104a0-\U000104a9\U000104b0-\U000104d3\U000104d8-\U000104fb'
    '\U00010500-\U00010527\U00010530-\U00010563\U00010570-\U0001057a\U0001057c-\U0001058a\U0001058c-\U00010592\U00010594-\U00010595'
    '\U00010597-\U000105a1\U000105a3-\U000105b1\U000105b3-\U000105b9\U000105bb-\U000105bc\U00010600-\U00010736\U00010740-\U00010755'
    '\U00010760-\U00010767\U00010780-\U00010785\U00010787-\U000107b0\U000107b2-\U000107ba\U00010800-\U00010805\U00010808\U0001080a'
    '-\U00010835\U00010837-\U00010838\U0001083c\U0001083f-\U00010855\U00010858-\U00010876\U00010879-\U0001089e\U000108a7-\U000108af'
    '\U000108e0-\U000108f2\U000108f4-\U000108f5\U000108fb-\U0001091b\U00010920-\U00010939\U00010980-\U000109b7\U000109bc-\U000109cf'
    '\U000109d2-\U00010a03\U00010a05-\U00010a06\U00010a0c-\U00010a13\U00010a15-\U00010a17\U00010a19-\U00010a35\U00010a38-\U00010a3a'
    '\U00010a3f-\U00010a48\U00010a60-\U00010a7e\U00010a80-\U00010a9f\U00010ac0-\U00010ac7\U00010ac9-\U00010ae6\U00010aeb-\U00010aef'
    '\U00010b00-\U00010b35\U00010b40-\U00010b55\U00010b58-\U00010b72\U00010b78-\U00010b91\U00010ba9-\U00010baf\U00010c00-\U00010c48'
    '\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U00010cfa-\U00010d27\U00010d30-\U00010d39\U00010e60-\U00010e7e\U00010e80-\U00010ea9'
    '\U00010eab-\U00010eac\U00010eb0-\U00010eb1\U00010efd-\U00010f27\U00010f30-\U00010f54\U00010f70-\U00010f85\U00010fb0-\U00010fcb'
    '\U00010fe0-\U00010ff6\U00011000-\U00011046\U00011052-\U00011075\U0001107f-\U000110ba\U000110c2\U000110d0-\U000110e8\U000110f0'
    '-\U000110f9\U00011100-\U00011134\U00011136-\U0001113f\U00011144-\U00011147\U00011150-\U00011173\U00011176\U00011180-\U000111c4'
    '\U000111c9-\U000111cc\U000111ce-\U000111da\U000111dc\U000111e1-\U000111f4\U00011200-\U00011211\U00011213-\U00011237\U0001123e'
    '-\U00011241\U00011280-\U00011286\U00011288\U0001128a-\U0001128d\U0001128f-\U0001129d\U0001129f-\U000112a8\U000112b0-\U000112ea'
    '\U000112f0-\U000112f9\U00011300-\U00011303\U00011305-\U0001130c\U0001130f-\U00011310\U00011313-\U00011328\U0001132a-\U00011330'
    '\U00011332-\U00011333\U00011335-\U00011339\U0001133b-\U00011344\U00011347-\U00011348\U0001134b-\U0001134d\U00011350\U00011357'
    '\U0001135d-\U00011363\U00011366-\U0001136c\U00011370-\U00011374\U00011400-\U0001144a\U00011450-\U00011459\U0001145e-\U00011461'
    '\U00011480-\U000114c5\U000114c7\U000114d0-\U000114d9\U00011580-\U000115b5\U000115b8-\U000115c0\U000115d8-\U000115dd\U00011600'
    '-\U00011640\U00011644\U00011650-\U00011659\U00011680-\U000116b8\U000116c0-\U000116c9\U00011700-\U0001171a\U0001171d-\U0001172b'
    '\U00011730-\U0001173b\U00011740-\U00011746\U00011800-\U0001183a\U000118a0-\U000118f2\U000118ff-\U00011906\U00011909\U0001190c'
    '-\U00011913\U00011915-\U00011916\U00011918-\U00011935\U00011937-\U00011938\U0001193b-\U00011943\U00011950-\U00011959\U000119a0'
    '-\U000119a7\U000119aa-\U000119d7\U000119da-\U000119e1\U000119e3-\U000119e4\U00011a00-\U00011a3e\U00011a47\U00011a50-\U00011a99'
    '\U00011a9d\U00011ab0-\U00011af8\U00011c00-\U00011c08\U00011c0a-\U00011c36\U00011c38-\U00011c40\U00011c50-\U00011c6c\U00011c72'
    '-\U00011c8f\U00011c92-\U00011ca7\U00011ca9-\U00011cb6\U00011d00-\U00011d06\U00011d08-\U00011d09\U00011d0b-\U00011d36\U00011d3a'
    '\U00011d3c-\U00011d3d\U00011d3f-\U00011d47\U00011d50-\U00011d59\U00011d60-\U00011d65\U00011d67-\U00011d68\U00011d6a-\U00011d8e'
    '\U00011d90-\U00011d91\U00011d93-\U00011d98\U00011da0-\U00011da9\U00011ee0-\U00011ef6\U00011f00-\U00011f10\U00011f12-\U00011f3a'
    '\U00011f3e-\U00011f42\U00011f50-\U00011f59\U00011fb0\U00011fc0-\U00011fd4\U00012000-\U00012399\U00012400-\U0001246e\U00012480'
    '-\U00012543\U00012f90-\U00012ff0\U00013000-\U0001342f\U00013440-\U00013455\U00014400-\U00014646\U00016800-\U00016a38\U00016a40'
    '-\U00016a5e\U00016a60-\U00016a69\U00016a70-\U00016abe\U00016ac0-\U00016ac9\U00016ad0-\U00016aed\U00016af0-\U00016af4\U00016b00'
    '-\U00016b36\U00016b40-\U00016b43\U00016b50-\U00016b59\U00016b5b-\U00016b61\U00016b63-\U00016b77\U00016b7d-\U00016b8f\U00016e40'
    '-\U00016e96\U00016f00-\U00016f4a\U00016f4f-\U00016f87\U00016f8f-\U00016f9f\U00016fe0-\U00016fe1\U00016fe3-\U00016fe4\U00016ff0'
    '-\U00016ff1\U00017000-\U000187f7\U00018800-\U00018cd5\U00018d00-\U00018d08\U0001aff0-\U0001aff3\U0001aff5-\U0001affb\U0001affd'
    '-\U0001affe\U0001b000-\U0001b122\U0001b132\U0001b150-\U0001b152\U0001b155\U0001b164-\U0001b167\U0001b170-\U0001b2fb\U0001bc00'
    '-\U0001bc6a\U0001bc70-\U0001bc7c\U0001bc80-\U0001bc88\U0001bc90-\U0001bc99\U0001bc9d-\U0001bc9e\U0001cf00-\U0001cf2d\U0001cf30'
    '-\U0001cf46\U0001d165-\U0001d169\U0001d16d-\U0001d172\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad\U0001d242'
    '-\U0001d244\U0001d2c0-\U0001d2d3\U0001d2e0-\U0001d2f3\U0001d360-\U0001d378\U0001d400-\U0001d454\U0001d456-\U0001d49c\U0001d49e'
    '-\U0001d49f\U0001d4a2\U0001d4a5-\U0001d4a6\U0001d4a9-\U0001d4ac\U0001d4ae-\U0001d4b9\U0001d4bb\U0001d4bd-\U0001d4c3\U0001d4c5'
    '-\U0001d505\U0001d507-\U0001d50a\U0001d50d-\U0001d514\U0001d516-\U0001d51c\U0001d51e-\U0001d539\U0001d53b-\U0001d53e\U0001d540'
    '-\U0001d544\U0001d546\U0001d54a-\U0001d550\U0001d552-\U0001d6a5\U0001d6a8-\U0001d6c0\U0001d6c2-\U0001d6da\U0001d6dc-\U0001d6fa'
    '\U0001d6fc-\U0001d714\U0001d716-\U0001d734\U0001d736-\U0001d74e\U0001d750-\U0001d76e\U0001d770-\U0001d788\U0001d78a-\U0001d7a8'
    '\U0001d7aa-\U0001d7c2\U0001d7c4-\U0001d7cb\U0001d7ce-\U0001d7ff\U0001da00-\U0001da36\U0001da3b-\U0001da6c\U0001da75\U0001da84'
    '\U0001da9b-\U0001da9f\U0001daa1-\U0001daaf\U0001df00-\U0001df1e\U0001df25-\U0001df2a\U0001e000-\U0001e006\U0001e008-\U0001e018'
    '\U0001e01b-\U0001e021\U0001e023-\U0001e024\U0001e026-\U0001e02a\U0001e030-\U0001e06d\U0001e08f\U0001e100-\U0001e12c\U0001e130'
    '-\U0001e13d\U0001e140-\U0001e149\U0001e14e\U0001e290-\U0001e2ae\U0001e2c0-\U0001e2f9\U0001e4d0-\U0001e4f9\U0001e7e0-\U0001e7e6'
    '\U0001e7e8-\U0001e7eb\U0001e7ed-\U0001e7ee\U0001e7f0-\U0001e7fe\U0001e800-\U0001e8c4\U0001e8c7-\U0001e8d6\U0001e900-\U0001e94b'
    '\U0001e950-\U0001e959\U0001ec71-\U0001ecab\U0001ecad-\U0001ecaf\U0001ecb1-\U0001ecb4\U0001ed01-\U0001ed2d\U0001ed2f-\U0001ed3d'
    '\U0001ee00-\U0001ee03\U0001ee05-\U0001ee1f\U0001ee21-\U0001ee22\U0001ee24\U0001ee27\U0001ee29-\U0001ee32\U0001ee34-\U0001ee37'
    '\U0001ee39\U0001ee3b\U0001ee42\U0001ee47\U0001ee49\U0001ee4b\U0001ee4d-\U0001ee4f\U0001ee51-\U0001ee52\U0001ee54\U0001ee57'
    '\U0001ee59\U0001ee5b\U0001ee5d\U0001ee5f\U0001ee61-\U0001ee62\U0001ee64\U0001ee67-\U0001ee6a\U0001ee6c-\U0001ee72\U0001ee74'
    '-\U0001ee77\U0001ee79-\U0001ee7c\U0001ee7e\U0001ee80-\U0001ee89\U0001ee8b-\U0001ee9b\U0001eea1-\U0001eea3\U0001eea5-\U0001eea9'
    '\U0001eeab-\U0001eebb\U0001f100-\U0001f10c\U0001fbf0-\U0001fbf9\U00020000-\U0002a6df\U0002a700-\U0002b739\U0002b740-\U0002b81d'
    '\U0002b820-\U0002cea1\U0002ceb0-\U0002ebe0\U0002f800-\U0002fa1d\U00030000-\U0003134a\U00031350-\U000323af';
  s text := title;
begin
  if s ~ '[^\u0001-\u007f]' then
    s := pg_catalog.normalize(pg_catalog.regexp_replace(s, '[' || selectors || ']', '', 'g'), 'NFC');
    s := pg_catalog.translate(pg_catalog.lower(s collate "C"), upper, lower); -- collation C: A to Z alone
    s := pg_catalog.normalize(s, 'NFC');
    s := pg_catalog.regexp_replace(s, '^[' || marks || ']+|([^' || words || '][' || marks || ']*)+', '-', 'g');
  else
    s := pg_catalog.regexp_replace(pg_catalog.lower(s collate "C"), '[^a-z0-9]+', '-', 'g');
  end if;
  s := pg_catalog.rtrim(pg_catalog.left(pg_catalog.ltrim(s, '-'), 80), '-');
  return case s when '' then 'untitled' else s end;
end
$$;

-- events: emit
create table public.notes (
  id             uuid primary key default public.uuid_v7(),
  owner_id       uuid not null references public.owners (id),
  genre          text not null check (genre in ('raw', 'wiki', 'writing')),
  parent_id      uuid references public.notes (id) on delete cascade,
  segment        text not null,
  path           text not null,
  title          text not null,
  body           text not null default '',
  tags           text[] not null default '{}',
  aliases        text[] not null default '{}',
  description    text not null default '',
  published      boolean not null default false,
  published_at   timestamptz,
  published_path text,
  dated          timestamptz,
  position       integer not null default 0,
  folder         boolean not null default false,
  names          text[] not null default '{}',
  body_tags      text[] not null default '{}',
  source_path    text,
  source_hash    text,
  source_content text,
  version        bigint not null default 1,
  created_at     timestamptz not null default clock_timestamp(),
  updated_at     timestamptz not null default clock_timestamp(),
  viewed_at      timestamptz,
  deleted_at     timestamptz,
  trash_batch    uuid,
  constraint notes_raw_private check (genre <> 'raw' or not published),
  constraint notes_tree check (genre = 'wiki' or parent_id is null)
);
-- Paths of 32 segments in a three-byte script do not fit into a B-tree's entry: their digests do.
create unique index notes_address on public.notes (owner_id, genre, md5(path)) where deleted_at is null;
create unique index notes_source on public.notes (owner_id, md5(source_path)) where source_path is not null and deleted_at is null;
create index notes_parent on public.notes (parent_id);
create index notes_published on public.notes (genre, published_at desc) where published and deleted_at is null;
create index notes_updated on public.notes (genre, updated_at desc, id) where deleted_at is null;
create index notes_trash on public.notes (trash_batch) where deleted_at is not null;
create index notes_tags on public.notes using gin ((tags || body_tags));
create index notes_names on public.notes using gin (names);

-- events: none (old addresses; follow the note)
create table public.note_addresses (
  owner_id uuid not null references public.owners (id),
  genre    text not null,
  path     text not null,
  note_id  uuid not null references public.notes (id) on delete cascade,
  since    timestamptz not null default clock_timestamp()
);
create unique index note_addresses_path on public.note_addresses (owner_id, genre, md5(path));
create index note_addresses_note on public.note_addresses (note_id);

-- events: none (derived from bodies; rewritten with the note)
create table public.note_links (
  note_id uuid not null references public.notes (id) on delete cascade,
  n       integer not null,
  target  text not null,
  name    text not null, -- the last part of target by the address rule: what notes.names and attachments.key hold too
  heading text not null default '',
  embed   boolean not null default false,
  file    boolean not null default false,
  primary key (note_id, n)
);
create index note_links_name on public.note_links (name);

-- events: none (which notes' names the indexed text of a note holds; written by the indexer)
create table public.note_mentions (
  note_id   uuid not null references public.notes (id) on delete cascade,
  target_id uuid not null references public.notes (id) on delete cascade,
  since     timestamptz not null default clock_timestamp(),
  primary key (note_id, target_id)
);
create index note_mentions_target on public.note_mentions (target_id);

-- events: none (files beside notes; their rights follow the notes that use them)
create table public.attachments (
  id          uuid primary key default public.uuid_v7(),
  owner_id    uuid not null references public.owners (id),
  name        text not null,
  key         text not null generated always as (public.note_segment(name)) stored,
  source_path text not null,
  media_type  text not null,
  size        bigint not null,
  hash        text not null,
  body        bytea not null,
  created_at  timestamptz not null default clock_timestamp()
);
create unique index attachments_source on public.attachments (owner_id, md5(source_path));
create index attachments_key on public.attachments (key);

-- events: none (a finished import is recorded as vault.imported)
create table public.imports (
  id          uuid primary key default public.uuid_v7(),
  owner_id    uuid not null references public.owners (id),
  source      text not null,
  state       text not null default 'running' check (state in ('running', 'completed', 'failed')),
  total       integer not null default 0,
  done        integer not null default 0,
  counts      jsonb not null default '{}',
  error       text not null default '',
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);

-- events: none (an uploaded archive until its import has ended)
create table public.import_uploads (
  import_id uuid primary key references public.imports (id) on delete cascade,
  options   jsonb not null,
  body      bytea not null
);

-- events: none (one line of an import's report)
create table public.import_files (
  import_id uuid not null references public.imports (id) on delete cascade,
  n         integer not null,
  path      text not null,
  outcome   text not null check (outcome in ('imported', 'unchanged', 'kept', 'skipped', 'refused')),
  reason    text not null default '',
  line      integer not null default 0,
  note_id   uuid,
  primary key (import_id, n)
);

-- events: none (the default search engine's own index, rebuilt from notes)
create table public.search_documents (
  id         uuid primary key,
  genre      text not null,
  title      text not null,
  aliases    text[] not null default '{}',
  tags       text[] not null default '{}',
  body       text not null,
  published  boolean not null,
  updated_at timestamptz not null,
  version    bigint not null,
  names      text[] not null, -- title and aliases, folded: what an exact question is compared with
  folded     text not null, -- everything that is looked through, folded: what a proposed document is verified with
  terms      tsvector not null
);
create index search_documents_terms on public.search_documents using gin (terms);

create function public.notes_refuse_truncate() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  -- TRUNCATE fires no row trigger: every deleted note would stay in search (field case F06).
  raise exception 'notes cannot be truncated: delete the rows, so that each deletion is heard'
    using errcode = 'feature_not_supported';
end
$$;
create trigger notes_truncate before truncate on public.notes
  for each statement execute function public.notes_refuse_truncate();

-- Whether two states of a note differ in what readers, search or receivers can see. Bookkeeping (viewed_at, source_*) and
-- what is derived (names, body_tags, published_*) is not among it.
create function public.notes_differ(a public.notes, b public.notes) returns boolean
language sql immutable
set search_path = ''
as $$
  select (a.genre, a.parent_id, a.path, a.title, a.body, a.tags, a.aliases, a.description, a.published, a.dated, a.position, a.folder,
          a.deleted_at is null)
      is distinct from
         (b.genre, b.parent_id, b.path, b.title, b.body, b.tags, b.aliases, b.description, b.published, b.dated, b.position, b.folder,
          b.deleted_at is null)
$$;

-- Keeps address, version and derived columns right, whoever writes. A restore of data alone sets gatehouse.quiet_triggers to
-- 'on': its rows are already right, and come in no order.
create function public.notes_prepare() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  above public.notes;
  step  uuid;
begin
  new.segment := coalesce(nullif(new.segment, ''), public.note_segment(new.title));
  if new.deleted_at is null and (tg_op = 'INSERT'
      or (new.parent_id, new.segment, new.genre, new.path, old.deleted_at) is distinct from (old.parent_id, old.segment, old.genre, old.path, null))
  then
    if new.genre = 'raw' then
      new.path := new.id::text;
    elsif new.parent_id is null then
      new.path := new.segment;
    else
      -- FOR SHARE: a rename of the parent waits for this row, or this row for the rename.
      select * into above from public.notes where id = new.parent_id for share;
      if above.deleted_at is not null then
        raise exception 'the parent is in the trash' using errcode = 'check_violation', constraint = 'notes_parent_live';
      end if;
      step := new.parent_id;
      while tg_op = 'UPDATE' and step is not null loop
        if step = new.id then
          raise exception 'a note cannot be below itself' using errcode = 'check_violation', constraint = 'notes_cycle';
        end if;
        select parent_id into step from public.notes where id = step;
      end loop;
      new.path := coalesce(above.path || '/', '') || new.segment; -- no such parent: the foreign key says so
      if pg_catalog.length(new.path) - pg_catalog.length(pg_catalog.replace(new.path, '/', '')) >= 32 then
        raise exception 'a note cannot be more than 32 levels deep' using errcode = 'check_violation', constraint = 'notes_depth';
      end if;
    end if;
  end if;
  if tg_op = 'INSERT' or (new.title, new.aliases, new.source_path, new.segment) is distinct from (old.title, old.aliases, old.source_path, old.segment) then
    new.names := array(
      select distinct public.note_segment(name)
      from pg_catalog.unnest(array[new.title, new.segment,
        pg_catalog.regexp_replace(pg_catalog.regexp_replace(new.source_path, '\.(md|markdown)$|/$', '', 'i'), '^.*/', '')] || new.aliases) name
      where name is not null);
  end if;
  if new.published and new.deleted_at is null then
    new.published_at := coalesce(new.published_at, pg_catalog.clock_timestamp());
    new.published_path := new.path;
  end if;
  if tg_op = 'UPDATE' and public.notes_differ(old, new) then
    new.version := old.version + 1;
    new.updated_at := pg_catalog.clock_timestamp();
  end if;
  return new;
end
$$;
create trigger notes_prepare_insert before insert on public.notes
  for each row when (current_setting('gatehouse.quiet_triggers', true) is distinct from 'on')
  execute function public.notes_prepare();
create trigger notes_prepare_update before update on public.notes
  for each row when (current_setting('gatehouse.quiet_triggers', true) is distinct from 'on')
  execute function public.notes_prepare();

-- corpus.note.changed: created, updated and deleted as readers of live notes see it. Going to the trash is a deletion, coming
-- back a creation, and purging the trash nothing.
create function public.notes_emit() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  was  public.notes;
  now  public.notes;
  here public.notes;
  op   text;
  moved boolean := false;
begin
  if tg_op <> 'INSERT' and old.deleted_at is null then was := old; end if;
  if tg_op <> 'DELETE' and new.deleted_at is null then now := new; end if;
  if was.id is null and now.id is null then return null; end if;
  here := now;
  if was.id is null then
    op := 'created';
  elsif now.id is null then
    op := 'deleted';
    here := was;
  else
    op := 'updated';
    moved := (was.genre, was.path) is distinct from (now.genre, now.path);
  end if;
  insert into public.events (owner_id, type, subject, data) values (
    here.owner_id,
    'corpus.note.changed',
    -- Unpublished and renamed at once: only the published address is known outside, and the new one may be telling.
    case when op = 'updated' and was.published and not now.published then was.genre || '://' || was.published_path
         else here.genre || '://' || here.path end,
    pg_catalog.jsonb_build_object(
      'op', op,
      'note_id', here.id,
      'genre', here.genre,
      'parent_id', here.parent_id,
      'published', coalesce(now.published, false),
      'was_published', coalesce(was.published, false),
      'path_changed', moved));
  return null;
end
$$;
create trigger notes_emit_insert after insert on public.notes
  for each row when (current_setting('gatehouse.quiet_triggers', true) is distinct from 'on')
  execute function public.notes_emit();
create trigger notes_emit_delete after delete on public.notes
  for each row when (current_setting('gatehouse.quiet_triggers', true) is distinct from 'on')
  execute function public.notes_emit();
create trigger notes_emit_update after update on public.notes
  for each row when (public.notes_differ(old, new) and current_setting('gatehouse.quiet_triggers', true) is distinct from 'on')
  execute function public.notes_emit();

-- Paths are stored: a new path of a parent is written down its tree, one row and so one event for each descendant. Addresses
-- that were published once lead to where the note is now.
create function public.notes_follow() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if old.published_path is distinct from new.published_path and old.published_path is not null then
    insert into public.note_addresses (owner_id, genre, path, note_id) values (old.owner_id, old.genre, old.published_path, old.id)
    on conflict (owner_id, genre, md5(path)) do update set note_id = excluded.note_id, since = pg_catalog.clock_timestamp();
  end if;
  if new.genre = 'wiki' and new.deleted_at is null and old.path is distinct from new.path then
    update public.notes set path = new.path || '/' || segment where parent_id = new.id and deleted_at is null;
  end if;
  return null;
end
$$;
create trigger notes_follow after update on public.notes
  for each row when ((old.path, old.published_path) is distinct from (new.path, new.published_path)
    and current_setting('gatehouse.quiet_triggers', true) is distinct from 'on')
  execute function public.notes_follow();

-- events: none (configuration; what happens to deliveries is told by the log)
-- changed: field → version that last changed it, so that a stale page can be told what did. A deleted endpoint keeps its
-- row, without address and secrets, as long as its log.
create table public.webhook_endpoints (
  id              uuid primary key default public.uuid_v7(),
  owner_id        uuid not null references public.owners (id),
  url             text not null,
  description     text not null default '',
  event_types     text[] not null,
  headers         jsonb not null default '[]',
  secrets_enc     bytea,
  scheme          text not null default 'hmac' check (scheme in ('hmac', 'ed25519')),
  scope           text not null default 'published' check (scope in ('published', 'embed')),
  embed_id        uuid,
  enabled         boolean not null default true,
  disabled_reason text not null default '' check (disabled_reason in ('', 'paused', 'gone', 'failing')),
  disabled_at     timestamptz,
  max_per_second  integer not null default 0 check (max_per_second between 0 and 1000),
  version         bigint not null default 1,
  changed         jsonb not null default '{}',
  created_at      timestamptz not null default clock_timestamp(),
  updated_at      timestamptz not null default clock_timestamp(),
  deleted_at      timestamptz
);

-- events: none (changes by itself with every attempt, apart from what the owner edits)
-- pace_us: what one delivery takes there at present, in microseconds, so that other processes can predict the line.
create table public.webhook_endpoint_state (
  endpoint_id     uuid primary key references public.webhook_endpoints (id) on delete cascade,
  lease_token     uuid,
  busy_until      timestamptz,
  wanted_at       timestamptz,
  free_at         timestamptz,
  not_before      timestamptz,
  pace_us         integer not null default 0,
  failing_since   timestamptz,
  failed_attempts integer not null default 0,
  failed_days     integer not null default 0,
  failed_on       date
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- events: none (bookkeeping of the sender)
create table public.webhook_deliveries (
  endpoint_id uuid not null,
  event_id    uuid not null,
  state       text not null check (state in ('waiting', 'delivered', 'failed', 'parked', 'dropped', 'cancelled')),
  trigger     text not null default 'automatic' check (trigger in ('automatic', 'manual', 'test', 'recovery')),
  job_id      bigint,
  attempts    integer not null default 0,
  last_status integer not null default 0,
  last_error  text not null default '',
  created_at  timestamptz not null default clock_timestamp(),
  settled_at  timestamptz,
  primary key (endpoint_id, event_id)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index webhook_deliveries_open on public.webhook_deliveries (endpoint_id, state, event_id) where state <> 'delivered';
create index webhook_deliveries_settled on public.webhook_deliveries using brin (settled_at);

-- events: none (append-only log; a partition for each day)
create table public.webhook_attempts (
  endpoint_id       uuid not null,
  event_id          uuid not null,
  number            integer not null,
  started_at        timestamptz not null,
  trigger           text not null,
  actor             text not null default '',
  job_id            bigint,
  outcome           text not null,
  status            integer not null default 0,
  error_class       text not null default '',
  error             text not null default '',
  wait_seconds      integer not null default 0,
  location          text not null default '',
  dns_us            integer not null default 0,
  connect_us        integer not null default 0,
  tls_us            integer not null default 0,
  first_byte_us     integer not null default 0,
  total_us          integer not null default 0,
  reused            boolean not null default false,
  remote_ip         text not null default '',
  headers           jsonb,
  headers_truncated boolean not null default false,
  excerpt           text not null default '',
  excerpt_truncated boolean not null default false,
  key_ids           text[] not null default '{}',
  late              boolean not null default false,
  primary key (endpoint_id, event_id, number, started_at)
) partition by range (started_at);
create index webhook_attempts_recent on public.webhook_attempts (endpoint_id, started_at);

-- events: none (partition of webhook_attempts for days nobody prepared)
create table public.webhook_attempts_rest partition of public.webhook_attempts default;

-- events: none (how far a recovery has come; what it sends is in the log)
create table public.webhook_recoveries (
  id          uuid primary key default public.uuid_v7(),
  endpoint_id uuid not null references public.webhook_endpoints (id) on delete cascade,
  since       timestamptz not null,
  until       timestamptz not null,
  which       text not null check (which in ('undelivered', 'all', 'failed')),
  actor       text not null default '',
  reached     uuid,
  total       integer not null default 0,
  done        integer not null default 0,
  created_at  timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
create index webhook_recoveries_endpoint on public.webhook_recoveries (endpoint_id, created_at desc);

-- events: none (figures of the last seven days, a row for each ten minutes; a periodic counts them anew and deletes old ones)
-- counted_at: when the row was last counted; one counted before its ten minutes were over is counted again. No row: nobody
-- looked then. waiting_*: the most that waited at any look; null when nobody looked in time.
create table public.throughput (
  at             timestamptz primary key,
  counted_at     timestamptz not null,
  events         integer not null,
  relayed        integer not null,
  completed      integer not null,
  discarded      integer not null,
  cancelled      integer not null,
  delivered      integer not null,
  failed         integer not null,
  waiting_events integer,
  waiting_tasks  integer
);

-- events: none (one row: which database this is, so that a copy is told by the difference; null: the role may not ask)
create table public.instance (
  one              boolean primary key default true check (one),
  id               uuid not null default public.uuid_v7(),
  system_id        bigint,
  timeline         bigint,
  database_oid     bigint not null,
  events_oid       bigint not null,
  created_at       timestamptz not null default clock_timestamp(),
  backup_at        timestamptz,
  backup_elsewhere boolean not null default false
);

-- events: none (the data directories whose programs serve this database; each start changes its nonce)
create table public.instance_homes (
  id         uuid primary key,
  nonce      uuid not null,
  started_at timestamptz not null default clock_timestamp()
);

-- events: none (while one is open, nothing is sent; until_seq: events up to it came with the copy, later ones happened here)
create table public.holds (
  id          uuid primary key default public.uuid_v7(),
  reason      text not null,
  until_seq   bigint not null,
  sessions    integer not null default 0,
  touched     integer not null default 0,
  set_at      timestamptz not null default clock_timestamp(),
  released_at timestamptz,
  choice      text check (choice in ('send', 'drop'))
);
create unique index holds_open on public.holds ((true)) where released_at is null;
