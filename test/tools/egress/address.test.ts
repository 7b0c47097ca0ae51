/** Addresses sorted into what is public, what is somebody's own, and what is never a server. */
import { addressKind, parseAddress } from '../../../src/tools/egress/address.ts';

const SORTED: Readonly<Record<string, readonly string[]>> = {
  public: [
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '169.253.255.255',
    '223.255.255.255',
  ].concat(['2606:4700:4700::1111', '2001:4860:4860::8888', '::ffff:8.8.8.8', '::ffff:808:808']),
  own: ['127.0.0.1', '127.255.255.254', '10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1']
    .concat(['100.64.0.1', '100.127.255.255', '::1', 'fc00::1', 'fd12:3456::1', 'fdff:ffff::1'])
    .concat(['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '0:0:0:0:0:ffff:c0a8:1']),
  special: ['0.0.0.0', '0.1.2.3', '169.254.169.254', '169.254.170.2', '192.0.0.192', '192.0.2.1', '198.18.0.1']
    .concat(['198.51.100.1', '203.0.113.1', '192.88.99.1', '224.0.0.1', '239.255.255.250', '240.0.0.1'])
    .concat(['255.255.255.255', '100.100.100.200', '168.63.129.16', '::', '::ffff:169.254.169.254', '::ffff:0.0.0.0'])
    .concat(['fe80::1', 'febf::1', 'fec0::1', 'ff02::1', 'ff05::1:3', 'fd00:ec2::254', 'fd20:ce::254'])
    .concat(['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::a00:1', '2002:7f00:1::', '2002:a00:1::1'])
    .concat(['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:db8::1', '3fff::1', '100::1', '5f00::1'])
    .concat(['::7f00:1', '::127.0.0.1', '::ffff:0:127.0.0.1', '4000::1', '1::1', '2001:20::1', '2001:2::1']),
};

const ROWS = Object.entries(SORTED).flatMap(([kind, addresses]) => addresses.map((text) => [text, kind] as const));

describe('addresses', () => {
  it.each(ROWS)('[T-09] %s is %s', (text, kind) => {
    const address = parseAddress(text);
    expect(address && addressKind(address)).toBe(kind);
  });

  it.each(['', 'a.example', '127.1', '0x7f.0.0.1', '0177.0.0.1', '2130706433', '10.0.0.1 ', '1.2.3.4.5', '[::1]'])(
    '[T-09] %p is no address',
    (text) => {
      expect(parseAddress(text)).toBeUndefined();
    },
  );

  it.each(['fe80::1%eth0', '::1%lo', '2606:4700::1%1'])('[T-09] %s, with a zone, is no address', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});
